"""Links between the texts of the checkout."""

import re
from pathlib import Path


def pages(checkout: Path) -> list[Path]:
    """Every text that is read as Markdown."""
    patterns = ("*.md", "docs/**/*.md", "plugins/*/README.md", "bench/README.md")
    return sorted(page for pattern in patterns for page in checkout.glob(pattern))


def anchors(page: Path) -> set[str]:
    """Of the headings, as mkdocs and forges make them."""
    plain = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    heads = re.findall(r"^#+ (.+)$", plain, re.MULTILINE)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", head).strip().lower()) for head in heads}


def fault_of(page: Path, target: str) -> str | None:
    """What a link of the page lacks: the file that it names, or a heading of it. None: nothing, or it leads out of the checkout."""
    if target.startswith(("http://", "https://")):
        return None
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    if not file.exists():
        return f"{target}: no such file"
    return f"{target}: no such heading" if anchor and anchor not in anchors(file) else None
