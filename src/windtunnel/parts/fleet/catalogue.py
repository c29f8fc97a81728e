"""What fleets have outside of their folders."""

SCENARIOS: dict[str, tuple[str, ...]] = {}
STUDIES: dict[str, tuple[str, ...]] = {}
FILES = ("docs/how-to/fleets.md", "docs/reference/fleet.md")
