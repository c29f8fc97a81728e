"""Writes docs/reference/command-line.md, each command with what its --help says. Run: python -m windtunnel.cli.command_line_page"""

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
    """A formatter as --help writes to, which makes Markdown of it."""

    width = 1 << 20
    """Of a line: nothing is wrapped or cut here."""

    def __init__(self, program: str, known: frozenset[str]) -> None:
        """`known`: the names of all commands; what a list has of them becomes a link."""
        self._program = program
        self._known = known
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
            shown = f"[`{name}`](#{_anchor(name)})" if name in self._known else f"`{term.strip()}`"
            self.lines.append(f"- {shown}: {_escaped(text)}")

    def write_text(self, text: str) -> None:
        self.write(text)

    def write(self, text: str) -> None:
        """Running text; a line that ends with a colon alone is a heading, and indented lines are examples."""
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
    known = frozenset(context.command_path for context in contexts())
    return HEAD + "".join(_section(context, known) for context in contexts())


def _section(context: Any, known: frozenset[str]) -> str:
    formatter = Markdown(context.command_path, known)
    context.command.format_help(context, formatter)
    formatter.close()
    heading = "Commands" if context.command_path == NAME else context.command_path
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(formatter.lines).strip("\n"))
    return f"\n## {heading}\n\n{body}\n"


def _anchor(heading: str) -> str:
    return heading.replace(" ", "-")


def _escaped(text: str) -> str:
    """Text in which nothing is Markdown but what stands between backticks, which the texts of --help have for names."""
    parts = _CODE.split(text)
    return "".join(part if place % 2 else _SPECIAL.sub(r"\\\1", part) for place, part in enumerate(parts))


if __name__ == "__main__":
    write(generated())
