"""Runs that were never flown, for tests of what compares them: figures drawn from a seed, times made up."""

import json
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import sample_lines as sample

from windtunnel.engine.lines import Line
from windtunnel.engine.plan import Plan
from windtunnel.runs import RunWriter, Verdict

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
HOST = {"hostname": "here", "kernel": "6.1", "cpus": {"model": "a cpu"}}
SCENARIO = {"title": "echo", "server": {"batch": {"app_rx": 32}}, "workload": [{"handler": "l_app"}]}


def made(directory: Path, mpps: float = 6.0, at_s: float = 0, *, seed: int = 1, lost: int = 0, **about) -> Path:
    """One run. `about`: scenario, host, plan, invalid (a reason), question; everything else goes into run.json as it is."""
    plan = about.pop("plan", None) or sample.plan()
    given = {"resolved": about.pop("scenario", SCENARIO), "question": about.pop("question", "why?")}
    reason = about.pop("invalid", None)
    writer = RunWriter(directory, sample.flight([plan], **given), about.pop("host", HOST))
    for line in _lines(plan.model_dump_json(), mpps, seed, lost):
        writer.line("windtunnel", line, line.model_dump_json())
    writer.finish(Verdict(False, [reason]) if reason else Verdict(True))
    change(directory, started=(NOON + timedelta(seconds=at_s)).isoformat(), **about)
    return directory


@cache
def _lines(plan: str, mpps: float, seed: int, lost: int) -> list[Line]:
    return sample.engine_lines(Plan.model_validate_json(plan), mpps=mpps, seed=seed, lost=lost)


def change(directory: Path, **keys) -> None:
    """Puts these into run.json."""
    file = directory / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | keys))


def in_turn(directory: Path, count: int, mpps_a: float, mpps_b: float, **about_b) -> tuple[Path, Path]:
    """Pairs that flew one after the other, A first and B first by turns; every run its own noise."""
    for n in range(count):
        late = n % 2
        made(directory / "a" / f"{n:02}", mpps_a, 20 * n + 10 * late, seed=2 * n)
        made(directory / "b" / f"{n:02}", mpps_b, 20 * n + 10 * (1 - late), seed=2 * n + 1, **about_b)
    return directory / "a", directory / "b"
