"""What the pages have outside of their folders."""

SCENARIOS: dict[str, tuple[str, ...]] = {}
STUDIES: dict[str, tuple[str, ...]] = {}
FILES = (
    "docs/how-to/ui-edit-phone.png",
    "docs/how-to/ui-edit.png",
    "docs/how-to/ui-history-phone.png",
    "docs/how-to/ui-history.png",
    "docs/how-to/ui-now-phone.png",
    "docs/how-to/ui-now.png",
    "docs/how-to/ui-runs.png",
    "docs/how-to/ui-tenants.png",
    "docs/how-to/watch-in-a-browser.md",
)
