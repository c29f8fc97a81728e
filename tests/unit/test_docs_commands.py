"""Commands in README and docs can be pasted: each command and option exists, and so does each file that it reads."""

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from windtunnel.cli.app import app

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = sorted([CHECKOUT / "README.md", *CHECKOUT.glob("docs/**/*.md"), *CHECKOUT.glob("plugins/*/README.md")])
OF_THE_READER = {
    "a.toml", "b.toml", "before.toml", "after.toml", "router.toml", "testpmd.txt", "./libmine.so",
    "lpm.json",
}  # fmt: skip
"""Files that stand for the reader's own."""
MADE = ("runs/", "tables", "DIR")
"""What commands leave, or a placeholder."""
FILE = re.compile(r"^[\w./-]+\.(toml|md|so|c|json|txt|html|log|sh|py)$")


def commands(page: Path) -> list[tuple[int, str]]:
    """Line and text of each `./windtunnel ...`, in fences and in running text."""
    found, fence = [], False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif fence and re.search(r"(^|\s)\./windtunnel ", line) and not line.startswith("Usage"):
            found.append((number, re.sub(r"\s+&$", "", line[line.index("./windtunnel ") :])))
        elif not fence:
            found += [(number, code) for code in re.findall(r"`(\./windtunnel [^`]+)`", line)]
    return found


def made_by(page: Path) -> set[str]:
    """Files that the page has the reader save, or that its commands write."""
    text = page.read_text()
    return set(re.findall(r'title="([^"]+)"', text)) | set(
        re.findall(r"(?:--out|--report|-o|>|init [\w-]+) ([\w./-]+)", text)
    )


ALL = [(page, number, text) for page in PAGES for number, text in commands(page)]


@cache
def command_line() -> Any:
    return typer.main.get_command(app)


def test_there_are_commands():
    assert len(ALL) > 60
    assert {page.parent.name for page, _, _ in ALL} >= {"tutorials", "how-to", "reference"}


@pytest.mark.parametrize(
    ("page", "number", "text"), ALL, ids=[f"{page.relative_to(CHECKOUT)}:{number}" for page, number, _ in ALL]
)
def test_a_command_parses(page, number, text):
    words = shlex.split(re.split(r" [|>] ", text)[0], comments=True)[1:]
    if words[0] == "quickstart" or words[:1] == ["--help"]:
        return
    parse(command_line(), words)
    made = made_by(page) | OF_THE_READER
    for word in words:
        for part in word.split("="):
            if FILE.match(part) and part not in made and not part.startswith(MADE):
                assert (CHECKOUT / part).exists(), f"{part} is not in the checkout, and the page does not make it"


def test_a_module_is_not_looked_for_in_the_readers_directory():
    """`python -m` looks there first, and the reader may be in a directory that somebody sent, with a json.py in it."""
    texts = [*PAGES, *(CHECKOUT / "src").rglob("*.py"), *(CHECKOUT / "sharing" / "src").rglob("*.py")]
    generated = r"windtunnel(\.schemas|_sharing\.docs|\.cli\.command_line_page)\b"  # by who changes this checkout
    own = r"windtunnel_sharing\.(guardian|pools\.remove_groups)\b"  # the daemon starts them, with -P
    asked = re.compile(rf"python3? -m (?!{generated}|{own})windtunnel[.\w]*")
    assert {
        text.name: asked.findall(text.read_text(encoding="utf-8")) for text in texts if asked.search(text.read_text())
    } == {}


def parse(command: Any, words: list[str], parent: Any = None) -> None:
    """Raises typer's usage errors for what the command line would refuse. Runs nothing."""
    helps = "--help" in words
    words = [word for word in words if word != "--help"]
    with command.make_context(command.name, words, parent=parent, resilient_parsing=helps) as context:
        if not isinstance(command, TyperGroup):
            return
        rest = [*context._protected_args, *context.args]
        if rest:
            _, inner, left = command.resolve_command(context, rest)
            parse(inner, left + ["--help"] * helps, context)
        else:
            assert helps or command.invoke_without_command, f"{command.name} needs a command"
