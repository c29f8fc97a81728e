"""Files for share/: a man page for each command, from the same texts as --help, and completion scripts.

setup.py writes them when a wheel is built, that of this package or of one with a command of its own.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import typer

from windtunnel.cli import extensions
from windtunnel.cli.app import app
from windtunnel.version import __version__

NAME = "windtunnel"
COMPLETIONS = {
    "bash": f"bash-completion/completions/{NAME}",
    "zsh": f"zsh/site-functions/_{NAME}",
    "fish": f"fish/vendor_completions.d/{NAME}.fish",
}
"""Shell -> path of its completion script below share/."""


def write(share: Path) -> None:
    """Writes the files of this package below a directory: completions ask the program, and so have all commands."""
    pages = {
        page: text for page, text in man_pages().items() if not any(_is_of(page, name) for name in extensions.names())
    }
    _write(share, _places(pages) | {place: completion_script(shell) for shell, place in COMPLETIONS.items()})


def write_extension(share: Path, name: str) -> None:
    """Writes the man pages of a command that another package brings, and of the commands below it."""
    _write(share, _places({page: text for page, text in man_pages().items() if _is_of(page, name)}))


def _is_of(page: str, command: str) -> bool:
    return f"{page}-".startswith(f"{NAME}-{command}-")


def _places(pages: dict[str, str]) -> dict[str, str]:
    return {f"man/man1/{page}.1": text for page, text in pages.items()}


def _write(share: Path, texts: dict[str, str]) -> None:
    for place, text in texts.items():
        (share / place).parent.mkdir(parents=True, exist_ok=True)
        (share / place).write_text(text)


def completion_script(shell: str) -> str:
    """The script of typer, which calls the program at each TAB."""
    ours = {f"_{NAME.upper()}_COMPLETE": f"source_{shell}", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", "from windtunnel.cli import main; main()"]
    return subprocess.run(command, env=os.environ | ours, stdout=subprocess.PIPE, text=True, check=True).stdout


def man_pages() -> dict[str, str]:
    """Text of each page by its name, `windtunnel-host-doctor` for instance."""
    names = ((context.command_path.replace(" ", "-"), context) for context in contexts())
    return {page: _page(page, context) for page, context in names}


def contexts() -> Iterator[Any]:
    """The context of each command, the whole program first."""
    yield from _contexts(typer.main.get_command(app), NAME, None)


def _contexts(command: Any, name: str, parent: Any) -> Iterator[Any]:
    with command.make_context(name, [], parent=parent, resilient_parsing=True) as context:
        yield context
        inner = getattr(command, "commands", {})  # a command of two words is here alone
        for below in dict.fromkeys([*inner, *(command.list_commands(context) if inner else ())]):
            yield from _contexts(command.get_command(context, below), below, context)


def _page(page: str, context: Any) -> str:
    command, manual = context.command, Manual()
    command.format_help(context, manual)
    about = command.short_help or command.help.removesuffix(".")
    head = [f'.TH {_plain(page.upper())} 1 "" "{NAME} {__version__}" "User Commands"']
    head += [".SH NAME", f"{_plain(page)} \\- {_plain(about)}", ".SH SYNOPSIS", *manual.synopsis, ".SH DESCRIPTION"]
    return "\n".join([*head, *manual.lines]) + "\n"


class Manual:
    """A formatter for --help that writes roff(7)."""

    width = 1 << 20
    """Width of a line: nothing is wrapped or truncated."""

    def __init__(self) -> None:
        self.synopsis: list[str] = []
        self.lines: list[str] = []

    def write_usage(self, program: str, arguments: str = "", prefix: str | None = None) -> None:
        self.synopsis = [f".B {_plain(program)}", _plain(arguments)]

    def write_paragraph(self) -> None:
        """Writes nothing, because each part begins a paragraph of its own."""

    def indentation(self) -> AbstractContextManager[None]:
        return nullcontext()

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        self.lines.append(f".SH {_plain(name.upper())}")
        yield

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None:
        for term, text in rows:
            self.lines += [".TP", f"\\fB{_plain(term.strip())}\\fP", _plain(text)]

    def write_text(self, text: str) -> None:
        self.write(text)

    def write(self, text: str) -> None:
        """Writes running text; a line that ends with a colon alone is a heading, and indented lines are examples."""
        for line in text.strip("\n").split("\n"):
            if line.endswith(":") and " " not in line:
                self.lines.append(f".SH {_plain(line[:-1].upper())}")
            elif line.startswith("  "):
                self.lines += [".nf", _plain(line), ".fi"]
            else:
                self.lines.append(_plain(line) or ".PP")


def _plain(text: str) -> str:
    """The text with requests and escapes of roff escaped."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
