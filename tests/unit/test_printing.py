"""The door to stdout and stderr, and that there is no way past it."""

import ast
import io
import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import reduce
from operator import or_
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from part_samples import part_samples
from rich.text import Text

from windtunnel.printing import guard, harmless, print_file, print_line
from windtunnel.results.document import Column, Table
from windtunnel.results.terminal.harmless import HarmlessConsole
from windtunnel.results.terminal.renderer import FittingTable

ROOT = Path(__file__).parents[2]
STEERING = ("\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\r", "\x7f", "\x85", "\u202e", "\u2066", "\u200b", "\udcff")
COMMANDS = ("::error::x", " \t::x", "##[error]x", "##vso[x]", "##", "\n")
MARKUP = ("[red]", "[/]", "[link=x]", ":warning:")
WORDS = st.lists(st.integers(0, sys.maxunicode).map(chr) | st.sampled_from(STEERING + COMMANDS + MARKUP)).map("".join)
"""All of Unicode, halves of characters included, and often what matters."""


def can_be_shown(shown: str) -> bool:
    return all(c.isprintable() or c in "\n\t" for c in shown) and not re.search(r"(?m)^[ \t]*::|##\w*\[", shown)


@given(WORDS)
def test_what_steers_is_spelled_out_and_nothing_else(words):
    shown = harmless(words)
    assert can_be_shown(shown) and harmless(shown) == shown
    assert (shown == words) == can_be_shown(words)


@given(WORDS)
def test_json_stays_json_with_the_same_values(words):
    document = json.loads(json.dumps({words: [words]}))  # of two halves one character, as JSON has it
    assert json.loads(harmless(json.dumps(document, ensure_ascii=False, indent=1))) == document


@given(WORDS)
def test_a_console_takes_nothing_for_markup(words):
    console = HarmlessConsole(file=io.StringIO())
    console.print(words, soft_wrap=True)
    console.print(Text(words), soft_wrap=True)
    shown = console.file.getvalue()
    assert can_be_shown(shown) and (shown == f"{words}\n" * 2 or not words.isprintable() or not can_be_shown(words))


@pytest.mark.parametrize("width", [8, 40])
@pytest.mark.parametrize("text", ["forged ::error::x", "forged  ::error::x", "forged.::error::x"])
def test_a_text_that_is_wrapped_begins_no_command(text, width):
    """At a terminal, or what CI calls one by FORCE_COLOR."""
    console = HarmlessConsole(file=io.StringIO(), force_terminal=True, color_system=None, width=width)
    console.print(Text(text))
    console.print(Text.assemble("forged ", ("::error::x", "bold")))
    console.print(FittingTable(Table([Column("head", [text], words=True)])))
    shown = console.file.getvalue()
    assert can_be_shown(shown) and ("\n" in shown.strip()) and (width == 40) == (text in shown)


class Terminal(io.StringIO):
    buffer = io.BytesIO()

    def isatty(self) -> bool:
        return True


@contextmanager
def guarded() -> Iterator[Terminal]:
    """The terminal behind the door."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(Terminal()) as shown, redirect_stderr(shown):
        patch.setattr(sys, "excepthook", sys.excepthook)
        patch.setenv("TERM", "xterm")
        guard()
        guard()  # of a second command in this process: one door behind another is none for styles
        yield shown


def raised(words: str) -> None:
    try:
        raise ValueError(words)
    except ValueError as error:
        sys.excepthook(type(error), error, error.__traceback__)


WRITERS = {
    "print": print,
    "lines": lambda words: sys.stdout.writelines([words]),
    "typer": typer.echo,
    "typer, to stderr": lambda words: typer.echo(words, err=True),
    "a console": lambda words: HarmlessConsole().print(words),
    "a log": lambda words: logging.lastResort.emit(logging.makeLogRecord({"msg": words})),
    "a traceback": raised,
    "a line": print_line,
    "a file": print_file,
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_nobody_writes_past_the_door(write):
    with guarded() as shown:
        write("a\x1b]0;owned\x07\x9b31m\u202eb")
    assert can_be_shown(shown.getvalue()) and "\\u009b31m\\u202eb" in shown.getvalue()


def test_a_console_behind_the_door_has_styles():
    with guarded() as shown:
        HarmlessConsole().print("[bold]", style="bold")
    assert shown.getvalue() == "\x1b[1m[bold]\x1b[0m\n"


def test_the_door_has_no_second_way_in():
    with guarded(), pytest.raises(AttributeError):
        sys.stdout.buffer  # noqa: B018


def test_a_line_is_harmless_in_a_program_of_others():
    there = io.StringIO()
    print_line("a\x1b[31m", to=there)
    assert there.getvalue() == "a\\u001b[31m\n"


def test_a_line_is_one_line_whatever_is_in_it():
    """A name or a record of someone else would begin a line of its own."""
    there = io.StringIO()
    print_line("left out: a\npassed: all", to=there)
    assert there.getvalue() == "left out: a\\npassed: all\n"


def test_streams_that_the_caller_closed(monkeypatch):
    for name in ("stdout", "stderr", "excepthook"):
        monkeypatch.setattr(sys, name, None)
    guard()
    print_line("a")
    print_file("a")
    HarmlessConsole().print("a")
    HarmlessConsole(stderr=True).print("a")


SINKS = {
    "src/windtunnel/printing.py": {"print", "sys.stdout", "exact"},
    "src/windtunnel/results/terminal/harmless.py": {"Console", "exact", "sys.stdout", "sys.stderr"},
    "src/windtunnel/results/terminal/console.py": {"sys.stderr"},  # its descriptor, to have it lead nowhere
    "src/windtunnel/cli/agreement.py": {"sys.stderr"},  # is it a terminal?
    "src/windtunnel/cli/history.py": {"sys.stderr"},  # for print_line
    "src/windtunnel/errors.py": {"sys.stderr"},  # for print_line
    "src/windtunnel/index/histories.py": {"sys.stderr"},  # for print_line
    "src/windtunnel/index/index.py": {"sys.stderr"},  # for print_line
}
"""All that write, or could, and how. Behind the door, where `main` has put it before the streams, print and typer are as good."""
BEHIND = (
    "src/windtunnel/cli/",
    "sharing/src/windtunnel_sharing/cli/",
    "src/windtunnel/results/",
    "src/windtunnel/parts/",
)
STREAMS = {f"sys.{name}" for name in ("stdout", "stderr", "__stdout__", "__stderr__")}
SUSPECTS = re.compile(
    r"\bsys\.(__)?std|\b(print|exact|Console|RichPanel|TextColumn)\(|\(Console\)|from_(ansi|markup)|/dev/tty|(markup|emoji)=True"
)
MARKED_UP = {"RichPanel": "title", "TextColumn": "markup"}
"""Of rich, whose Panel is called RichPanel here, what takes a text for markup whatever the console says, and the argument that it must have: a Text, or False."""


def sinks(path: str, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute() if ast.unparse(node) in STREAMS:
                yield ast.unparse(node)
            case ast.Attribute(attr="from_markup" | "from_ansi" as name) | ast.Constant(value="/dev/tty" as name):
                yield name
            case ast.keyword(arg="markup" | "emoji" as name, value=ast.Constant(value=True)):
                yield name
            case ast.ClassDef(bases=[ast.Name("Console")]) | ast.Call(func=ast.Name("Console")):
                yield "Console"
            case ast.Call(func=ast.Name("exact")):
                yield "exact"
            case ast.Call(func=ast.Name("print")) if not path.startswith(BEHIND):
                yield "print"
            case ast.Call(func=ast.Name(name), keywords=options) if name in MARKED_UP:
                given = {option.arg: ast.unparse(option.value) for option in options}.get(MARKED_UP[name], "")
                if not given.startswith(("False", "Text(", "'")):
                    yield name


def test_all_that_is_written_goes_through_the_door():
    files = [
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "sharing/src").rglob("*.py"),
        *(ROOT / "sharing/studies").rglob("*.py"),
    ]
    texts = {file.relative_to(ROOT).as_posix(): file.read_text() for file in files}
    expected = reduce(or_, part_samples("SINKS"), SINKS)
    found = {path: set(sinks(path, ast.parse(text))) for path, text in texts.items() if SUSPECTS.search(text)}
    assert {path: names for path, names in found.items() if names} == expected
