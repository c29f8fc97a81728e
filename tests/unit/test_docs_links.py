"""Links between the texts of the checkout: each names a file that is there, and a heading of it. mkdocs checks docs/ alone."""

import re
from pathlib import Path

import pytest
from markdown_links import fault_of, pages

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = pages(CHECKOUT)
LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_have_targets(page):
    for target in LINK.findall(re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)):
        assert fault_of(page, target) is None


def test_the_readme_is_short():
    assert len((CHECKOUT / "README.md").read_text().splitlines()) <= 95


def test_every_page_is_in_the_navigation():
    nav = (CHECKOUT / "mkdocs.yml").read_text()
    for page in (CHECKOUT / "docs").glob("**/*.md"):
        assert f": {page.relative_to(CHECKOUT / 'docs')}\n" in nav


def test_what_holds_is_held_by_tests_that_are_there():
    """The page on security names them, and each attacker that tests/hostile has; the user's own signals are no attack."""
    lines = (CHECKOUT / "docs/explanation/security.md").read_text().splitlines()
    cells = [line.rstrip(" |").rpartition("| ")[2] for line in lines if line.startswith("| ")][1:]
    named = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    assert cells and all("`" in cell for cell in cells)
    for name in named:
        assert (CHECKOUT / (name if "/" in name else f"engine/tests/fuzz/{name}_fuzz.cc")).exists(), name
    hostile = {str(file.relative_to(CHECKOUT)) for file in CHECKOUT.glob("tests/hostile/test_*.py")}
    assert hostile - named == {"tests/hostile/test_signals.py"}
