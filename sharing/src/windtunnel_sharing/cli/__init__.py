"""`windtunnel share`: its commands, one file each. The entry point "share" of the group "windtunnel.commands" loads `app`."""

import inspect
from typing import Any

import typer

from windtunnel_sharing.cli.advise import advise
from windtunnel_sharing.cli.daemon_requests import list_, set_, watch
from windtunnel_sharing.cli.probe import probe
from windtunnel_sharing.cli.reproduce import reproduce
from windtunnel_sharing.cli.restore import restore
from windtunnel_sharing.cli.serve import serve
from windtunnel_sharing.cli.simulate import simulate


def _texts(text: str | None) -> dict[str, Any]:
    """A docstring as help: its first paragraph is the line in lists, its paragraphs of commands are examples."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    examples = [paragraph for paragraph in paragraphs if paragraph.startswith("windtunnel ")]
    prose = [paragraph for paragraph in paragraphs if paragraph not in examples]
    lines = [f"  {line}" for paragraph in examples for line in paragraph.split("\n")]
    epilog = {"epilog": "\n".join(["\b", "Examples:", *lines])} if lines else {}
    return {"help": "\n\n".join(prose), "short_help": prose[0].removesuffix("."), **epilog}


app = typer.Typer(
    name="share",
    help="Share cores among poll-mode tenants.",
    no_args_is_help=True,
    rich_markup_mode=None,
    rich_help_panel="Model and share",
)
for _command in (probe, serve, list_, set_, watch, restore, simulate, advise, reproduce):
    app.command(_command.__name__.removesuffix("_"), **_texts(_command.__doc__))(_command)
