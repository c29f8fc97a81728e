"""README and tutorials, typed as they are printed: each file is saved, each command entered in order, and all end well."""

import re
import subprocess
from pathlib import Path

import pytest
from printed_pages import Block, blocks, save

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = [CHECKOUT / "README.md", *sorted(CHECKOUT.glob("docs/tutorials/*.md"))]
TRIED_ELSEWHERE = re.compile(r"\./windtunnel quickstart|\./test\b|git clone|cd |\./windtunnel share serve")
"""By test_setup.py, by who runs this test, and by the share daemon's tests."""
MADE_HERE = {".git", ".venv", "build", "runs", "mine", "mine.toml"}
OUTCOMES = {"compare": {0, 1, 3}, "history": {0, 3}}
"""Exit codes that answer the question: two variants cannot always be told apart, and the first runs are no history."""


def commands(block: Block) -> list[str]:
    if block.language != "sh":
        return []
    lines = block.content.replace("\\\n", "").splitlines()
    return [line for line in lines if line.strip() and not TRIED_ELSEWHERE.match(line)]


SHORT = re.compile(r"\./windtunnel (check|handlers|init|models|copiers|.*--help|study .*--plan)\b")
SHORT_ONES = sorted({line for page in PAGES for block in blocks(page) for line in commands(block) if SHORT.match(line)})


@pytest.fixture
def checkout(tmp_path):
    """A directory in which each command finds what it would find in this checkout, and may write."""
    for entry in CHECKOUT.iterdir():
        if entry.name not in MADE_HERE:
            (tmp_path / entry.name).symlink_to(entry)
    return tmp_path


def enter(line: str, checkout: Path) -> None:
    """A command as it is printed; runs that the page calls RUN, or FIRST and SECOND, are those there are."""
    runs = sorted((checkout / "runs").glob("*/run.json"))
    for name, run in (
        *zip(("runs/FIRST", "runs/SECOND"), runs, strict=False),
        *(("runs/RUN", run) for run in runs[:1]),
    ):
        line = line.replace(name, str(run.parent.relative_to(checkout)))
    typed = ["bash", "-c", line]
    done = subprocess.run(typed, check=False, cwd=checkout, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    allowed = next((codes for name, codes in OUTCOMES.items() if f"./windtunnel {name} " in line), {0})
    assert done.returncode in allowed, f"{line}: {done.returncode}\n{done.stdout}{done.stderr}"


def test_pages_have_files_and_commands():
    kinds = {(block.language, bool(block.file)) for page in PAGES for block in blocks(page)}
    assert {("sh", False), ("c", True), ("toml", True)} <= kinds
    assert len(SHORT_ONES) >= 3


@pytest.mark.parametrize("line", [line for line in SHORT_ONES if "mine" not in line])
def test_a_short_command_of_a_page_ends_well(checkout, line):
    enter(line, checkout)


@pytest.mark.long("pages")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_can_be_followed_to_its_end(checkout, page):
    for block in blocks(page):
        if block.file:
            save(block, checkout)
        for line in commands(block):
            enter(line, checkout)
