"""Runs that somebody sent, whose plug-in writes a file as soon as it is opened."""

import os
from pathlib import Path

from command_line import SCENARIO
from comparing import made
from plugin_tools import handler


def marking_runs(directory: Path) -> Path:
    """What the plug-in writes. Beside it: a directory of runs, two of which name it, and a scenario that does."""
    (directory / "runs").mkdir()
    library = handler(directory / "runs" / "libmarks.so", loaded=f'fclose(fopen("{directory / "opened"}", "w"));')
    scenario = {"title": "sent", "workload": [{"handler": str(library)}]}
    for number, name in enumerate(("a", "b")):
        made(directory / "runs" / name, 6.0, 10 * number, scenario=scenario)
    (directory / "runs" / "sent.toml").write_text(SCENARIO.format(duration="1s").replace('"l_app"', '"./libmarks.so"'))
    return directory / "opened"


def rename_oddly(mark: Path) -> None:
    """The runs have names that are not UTF-8."""
    for name in ("a", "b"):
        (mark.parent / "runs" / name).rename(mark.parent / "runs" / os.fsdecode(name.encode() + b"\xe9"))
