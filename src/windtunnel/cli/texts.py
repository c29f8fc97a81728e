"""The layout of --help: plain text, like that of git and cargo."""

import inspect
import re
from typing import Any

import typer
from typer.core import TyperCommand

from windtunnel.cli.as_option import examples_of
from windtunnel.live.process import ANNOUNCEMENT

_NOTES = re.compile(r"  \[([^\[\]]*)\]$")


def of_docstring(text: str | None) -> dict[str, Any]:
    """The texts of a command: the first paragraph is its line in lists, a paragraph of commands is the examples, the rest is the help."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    examples = [paragraph for paragraph in paragraphs if paragraph.startswith("windtunnel ")]
    prose = [paragraph for paragraph in paragraphs if paragraph not in examples]
    lines = [f"  {line}" for paragraph in examples for typed in paragraph.split("\n") for line in examples_of(typed)]
    epilog = {"epilog": "\n".join(["\b", "Examples:", *lines])} if lines else {}
    return {"help": "\n\n".join(prose), "short_help": prose[0].removesuffix("."), **epilog}


class Command(TyperCommand):
    """One command: usage, what it does, arguments and options with their defaults, examples."""

    def invoke(self, ctx: typer.Context) -> Any:
        """Runs the command. A process that measures is announced under its name."""
        with ANNOUNCEMENT.command(ctx.command_path.removeprefix("windtunnel ")):
            return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:
        arguments = [
            param.metavar or param.name for param in self.get_params(ctx) if param.param_type_name == "argument"
        ]
        return ["[OPTIONS]", *map(str, arguments)]

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:
        arguments, options = [], []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            if param.param_type_name == "argument":
                arguments.append((str(param.metavar or param.name), plain(record[1])))
            else:
                options.append((record[0], plain(record[1])))
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: typer.Context, formatter: Any) -> None:
        if self.epilog:
            formatter.write(f"\n{self.epilog.removeprefix(chr(8)).strip(chr(10))}\n")


def plain(text: str) -> str:
    """The help text with readable notes after an option: `[default: (60s)]` is `[default: 60s]`, and `0<=x<=4` is `0 to 4`."""
    return _NOTES.sub(lambda match: _notes(match[1].split("; ")), text)


def _notes(notes: list[str]) -> str:
    texts = []
    for note in notes:
        if note == "required":
            continue
        note = re.sub(r"^default: \((.*)\)$", r"default: \1", note)
        note = re.sub(r"^(\S+)<=x<=(\S+)$", r"\1 to \2", note)
        texts.append(re.sub(r"^x>=(\S+)$", r"at least \1", note))
    return f"  [{', '.join(texts)}]" if texts else ""
