"""Runs that were never run, for tests of what compares them: figures drawn from a seed, times made up."""

import json
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import jsonschema
import sample_lines as sample

from windtunnel.engine.lines import Hello, Ready, Result
from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window
from windtunnel.measure.compare.compared import Running
from windtunnel.measure.compare.compared import compare as hold
from windtunnel.measure.compare.comparison_record import Comparison
from windtunnel.runs import EngineRecord, Record, Verdict
from windtunnel.runs.validity import HostState, Settled, Validity

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
HOST = {"hostname": "here", "kernel": "6.1", "cpus": {"model": "a cpu"}}
SCENARIO = {"title": "echo", "server": {"batch": {"app_rx": 32}}, "workload": [{"handler": "l_app"}]}


def made(directory: Path, mpps: float = 6.0, at_s: float = 0, *, seed: int = 1, lost: int = 0, **about) -> Path:
    """One run. `about`: scenario, host, plan, question, versions, build, invalid (a reason), state (of the host)."""
    plan = about.get("plan") or sample.plan()
    engine, windows = _run(plan.model_dump_json(), mpps, seed, lost)
    if build := about.get("build"):
        engine = engine.model_copy(update={"hello": engine.hello.model_copy(update={"build": build})})
    reason = about.get("invalid")
    record = Record(
        title=about.get("title", plan.title),
        question=about.get("question", "why?"),
        started=NOON + timedelta(seconds=at_s),
        verdict=Verdict(False, [reason]) if reason else Verdict(True),
        validity=in_state(about["state"]) if "state" in about else None,
        scenario=about.get("scenario", SCENARIO),
        labels=about.get("labels", {}),
        notes=[],
        host=about.get("host", HOST),
        versions=about.get("versions", {"engine": "0.1.0", "dpdk": "DPDK 22.11.7"}),
        engines=[engine],
    )
    directory.mkdir(parents=True)
    (directory / "run.json").write_text(record.model_dump_json())
    (directory / "windows.jsonl").write_text(windows)
    return directory


LEVEL = {"what": "responses_per_s", "after_ns": 0, "windows": 12, "mean": 6e6, "half_width": 0.01}
LINE_NS = {"one-l3": 91.0, "two-l3s": 425.0}


def in_state(name: str, settled: bool | None = None) -> Validity:
    """What a run finds out whose windows were all in one state of the host. `settled` None: they were too few to tell."""
    state = HostState(
        name=name,
        words=name,
        windows=1,
        indexes=[0],
        line_ns=LINE_NS.get(name.partition(", ")[0]),
        responses_per_s={},
        p50_ns={},
    )
    level = None if settled is None else Settled(**LEVEL, settled=settled)
    return Validity(checks=[], excluded=[], states=[state], headline=name, settled=level)


@cache
def _run(plan: str, mpps: float, seed: int, lost: int) -> tuple[EngineRecord, str]:
    """What the engine said, and the text of windows.jsonl."""
    lines = sample.engine_lines(Plan.model_validate_json(plan), mpps=mpps, seed=seed, lost=lost)
    said = {kind: next(line for line in lines if isinstance(line, kind)) for kind in (Hello, Ready, Result)}
    engine = EngineRecord(
        name="windtunnel", plan=json.loads(plan), hello=said[Hello], ready=said[Ready], result=said[Result]
    )
    windows = [line.model_dump_json() for line in lines if isinstance(line, Window)]
    return engine, "".join(f'{{"engine":"windtunnel",{window[1:]}\n' for window in windows)


def change(directory: Path, **keys) -> None:
    """Puts these into run.json."""
    file = directory / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | keys))


def in_turn(
    directory: Path, count: int, mpps_a: float, mpps_b: float, at_s: float = 0, seed: int = 0, **about_b
) -> tuple[Path, Path]:
    """Pairs that ran one after the other from `at_s` on, A first and B first by turns; every run its own noise."""
    for n in range(count):
        late = n % 2
        made(directory / "a" / f"{n:02}", mpps_a, at_s + 20 * n + 10 * late, seed=seed + 2 * n)
        made(directory / "b" / f"{n:02}", mpps_b, at_s + 20 * n + 10 * (1 - late), seed=seed + 2 * n + 1, **about_b)
    return directory / "a", directory / "b"


def compared(a, b, force=True, **more) -> Comparison:
    """The comparison of runs or studies that lie there. Most tests have one run a side, which is enough for them."""
    comparison, directory = hold(a, b, Running(), force=force, **more)
    assert directory is None
    _schema().validate(comparison.model_dump(mode="json"))
    return comparison


@cache
def _schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(Comparison.model_json_schema())
