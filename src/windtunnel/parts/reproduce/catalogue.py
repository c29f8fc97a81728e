"""What claims have outside of their folders."""

SCENARIOS: dict[str, tuple[str, ...]] = {}
STUDIES: dict[str, tuple[str, ...]] = {}
FILES = ("docs/reference/claims.md", "docs/reference/five-documents.md")
