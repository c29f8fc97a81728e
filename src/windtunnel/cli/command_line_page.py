"""Writes docs/reference/command-line.md, with the --help text of each command. Run: python -m windtunnel.cli.command_line_page"""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from windtunnel.cli.manual import NAME, contexts
from windtunnel.schemas.generate import write

HEAD = """\
# Command line

<!-- Generated from the texts of --help by `python -m windtunnel.cli.command_line_page`. -->

Every command with its options, as `--help` and the man pages have them. In a checkout, type `./windtunnel` instead of `windtunnel`.
Results go to stdout, progress and messages to stderr. What cannot be done as asked ends with exit code 2, a message and a remedy.
"""
_CODE = re.compile(r"(`[^`]+`)")
_SPECIAL = re.compile(r"([\\`*_<\[])")


class Markdown:
    """A formatter for --help that writes Markdown."""

    width = 1 << 20
    """Width of a line: nothing is wrapped or truncated."""

    def __init__(self, program: str, commands: frozenset[str]) -> None:
        """`commands`: the names of all commands; in a list they become links."""
        self._program = program
        self._commands = commands
        self.lines: list[str] = []

    def write_usage(self, program: str, arguments: str = "", prefix: str | None = None) -> None:
        self.lines += ["", "```", f"{program} {arguments}", "```"]

    def write_paragraph(self) -> None:
        self.lines.append("")

    def indentation(self) -> AbstractContextManager[None]:
        return nullcontext()

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        self.lines += ["", f"**{name}**", ""]
        yield

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None:
        for term, text in rows:
            name = f"{self._program} {term.strip()}"
            term_text = f"[`{name}`](#{_anchor(name)})" if name in self._commands else f"`{term.strip()}`"
            self.lines.append(f"- {term_text}: {_escaped(text)}")

    def write_text(self, text: str) -> None:
        self.write(text)

    def write(self, text: str) -> None:
        """Writes running text; a line that ends with a colon alone is a heading, and indented lines are examples."""
        for line in text.strip("\n").split("\n"):
            example = line.startswith("  ") and line.strip() != ""
            if example != self._in_examples():
                self.lines += ["```sh"] if example else ["```", ""]
            if example:
                self.lines.append(line.strip())
            elif line.endswith(":") and " " not in line:
                self.lines += ["", f"**{line[:-1]}**", ""]
            else:
                self.lines.append(_escaped(line))

    def close(self) -> None:
        if self._in_examples():
            self.lines.append("```")

    def _in_examples(self) -> bool:
        return sum(line.startswith("```") for line in self.lines) % 2 == 1


def generated() -> dict[Path, str]:
    """Path in the checkout -> content."""
    return {Path("docs/reference/command-line.md"): page()}


def page() -> str:
    commands = frozenset(context.command_path for context in contexts())
    return HEAD + "".join(_section(context, commands) for context in contexts())


def _section(context: Any, commands: frozenset[str]) -> str:
    formatter = Markdown(context.command_path, commands)
    context.command.format_help(context, formatter)
    formatter.close()
    heading = "Commands" if context.command_path == NAME else context.command_path
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(formatter.lines).strip("\n"))
    return f"\n## {heading}\n\n{body}\n"


def _anchor(heading: str) -> str:
    return heading.replace(" ", "-")


def _escaped(text: str) -> str:
    """The text with Markdown escaped, except between backticks, which mark names in the texts of --help."""
    parts = _CODE.split(text)
    return "".join(part if place % 2 else _SPECIAL.sub(r"\\\1", part) for place, part in enumerate(parts))


if __name__ == "__main__":
    write(generated())
