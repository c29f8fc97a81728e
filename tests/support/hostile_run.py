"""`windtunnel run` as a hostile user starts it, and what must be true however it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import forked
from fake_runs import gone
from scenario_tools import LENIENT

from windtunnel.engine import leftovers

ECHO = '[[workload]]\nhandler = "l_app"\n'
SHORT = ("duration=60ms", "warmup=0s", "window=20ms", "drain=100ms", *LENIENT)
START = "from windtunnel.cli import main; main()"
COMMAND = (sys.executable, "-c", START)


def arguments(
    directory: Path, *sets: str, content: str = ECHO, out: str = "run", more: tuple[str, ...] = ()
) -> list[str]:
    """A short run of a scenario file in `directory`, with its run directory beside it."""
    file = directory / "hostile.toml"
    if not file.exists():
        file.write_text(content)
    changes = [word for change in (*SHORT, *sets) for word in ("--set", change)]
    return ["run", str(file), "--out", str(directory / out), *changes, *more]


def start(words: list[str], python: str | None = None, **how) -> subprocess.Popen:
    """The command with its own pipes, unless `how` says otherwise. `python`: by an interpreter that starts now, as with `preexec_fn`."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    if python or "preexec_fn" in how:
        return subprocess.Popen([python or sys.executable, "-c", START, *words], **(pipes | how))
    return forked.Command(words, **(pipes | how))


def ended(process: subprocess.Popen) -> tuple[int, str]:
    """Exit code and all that was said; a traceback is a fault of ours."""
    out, err = process.communicate(timeout=60)
    said = (out or "") + (err or "")
    assert "Traceback" not in said and "Exception ignored" not in said, said
    return process.returncode, said


def run(words: list[str], **how) -> tuple[int, str]:
    return ended(start(words, **how))


def record(directory: Path) -> dict:
    """run.json, whole; no engine of it lives, and none has left anything in EAL's runtime directory."""
    found = json.loads((directory / "run.json").read_text())
    for engine in found["engines"]:
        assert not (leftovers.runtime_directory() / "dpdk" / engine["plan"]["eal"]["file_prefix"]).exists()
        assert engine["hello"] is None or gone(engine["hello"]["pid"])
    for line in (directory / "windows.jsonl").read_text().splitlines() if found["engines"] else ():
        json.loads(line)
    return found


def reasons(directory: Path) -> list[str]:
    return record(directory)["verdict"]["reasons"]


def environment(**changes: str) -> dict[str, str]:
    return os.environ | changes
