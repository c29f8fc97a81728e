"""The trace: what the engine writes becomes what Perfetto opens, and says what is missing."""

import itertools
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import sample_lines
from command_line import SCENARIO, windtunnel
from real_runs import execute

from windtunnel.cli import live_outputs as along
from windtunnel.engine.plan import Trace
from windtunnel.errors import UserError
from windtunnel.runs import Run, RunWriter, Verdict
from windtunnel.runs.trace import EVENT, EVENT_BYTES_MOST, HEADER, MAGIC, WHOLE_LOOP, convert
from windtunnel.scenario import here, load, resolve

EPOCH = 1 << 40
STALLED = 1 << 31
LOOP = [(100, 900, 64 | STALLED, 1, WHOLE_LOOP), (100, 500, 32, 1, 0), (500, 900, 32 | STALLED, 1, 1)]


def assert_trace_event_format(document: dict) -> list[dict]:
    """What the Trace Event Format asks of complete and metadata events; returns the slices.

    Strict where Perfetto is: integers for ids, slices of a thread nest, and those that start together stand outer one first.
    """
    assert set(document) == {"displayTimeUnit", "traceEvents"} and document["displayTimeUnit"] == "ns"
    threads: dict[tuple[int, int], list] = defaultdict(list)
    names: dict[tuple, str] = {}
    for event in document["traceEvents"]:
        assert type(event["pid"]) is int and type(event["tid"]) is int and event["tid"] > 0
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name", "thread_sort_index")
            assert set(event) == {"name", "ph", "pid", "tid", "args"}
            if event["name"] != "thread_sort_index":
                names[event["name"], event["pid"], event["tid"]] = event["args"]["name"]
            continue
        assert event["ph"] == "X" and set(event) == {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"}
        assert isinstance(event["name"], str) and isinstance(event["cat"], str) and isinstance(event["args"], dict)
        start, length = (round(event[key] * 1000) for key in ("ts", "dur"))
        assert start >= 0 and length >= 0 and event["ts"] == start / 1000
        threads[event["pid"], event["tid"]].append((start, start + length))
    for (pid, tid), slices in threads.items():
        assert ("process_name", pid, pid) in names and ("thread_name", pid, tid) in names
        around: list[int] = []
        for start, end in slices:
            while around and around[-1] <= start:
                around.pop()
            assert not around or end <= around[-1], "a slice crosses the end of the one around it"
            around.append(end)
        assert all(a[0] <= b[0] for a, b in itertools.pairwise(slices))
    return [event for event in document["traceEvents"] if event["ph"] == "X"]


def run_with_traces(directory: Path, *plans, names=("windtunnel",)) -> Run:
    """A run that has run; its engines' raw traces are for the test to write."""
    plans = [
        plan.model_copy(update={"trace": Trace(path=f"/gone/{n}.bin", every=7, limit_events=100)})
        for n, plan in enumerate(plans)
    ]
    writer = RunWriter(directory / "run", sample_lines.spec(plans, names), {})
    for plan, name in zip(plans, names, strict=True):
        for line in sample_lines.engine_lines(plan):
            writer.line(name, line, line.model_dump_json())
    return writer.finish(Verdict(True))


def write_raw(path: Path, events: list[tuple], *, start_tsc: int = EPOCH, rest: bytes = b"") -> None:
    header = np.array([(MAGIC, start_tsc, 0.5, EVENT.itemsize)], HEADER)
    raw = np.array([(start_tsc + start, start_tsc + end, *others) for start, end, *others in events], EVENT)
    path.write_bytes(header.tobytes() + raw.tobytes() + rest)


def test_a_loop_and_its_calls_become_slices_of_a_worker(tmp_path):
    run = run_with_traces(tmp_path, sample_lines.plan())
    # as it comes from the ring: the loop behind its calls
    write_raw(run.path / "0.bin", [*LOOP[1:], LOOP[0]])
    path = convert(run)
    assert path == run.path / "trace.json" and not (run.path / "0.bin").exists()
    slices = assert_trace_event_format(json.loads(path.read_text()))
    loop, first, second = [each for each in slices if each["cat"] != "window"]
    assert loop == {
        "name": "loop",
        "cat": "loop",
        "ph": "X",
        "ts": 0.05,
        "dur": 0.4,
        "pid": 1000,
        "tid": 1002,
        "args": {"objects": 64, "stalled": True},
    }
    assert (first["name"], first["cat"], first["ts"], first["dur"]) == ("nic_rx", "server", 0.05, 0.2)
    assert first["args"] == {"endpoint": "server", "index": 0, "objects": 32, "stalled": False}
    assert second["args"]["stalled"] is True and second["ts"] == 0.25
    windows = [each for each in slices if each["cat"] == "window"]
    assert [each["name"] for each in windows] == list(sample_lines.PHASES)
    assert windows[0]["ts"] == 420_000 and windows[0]["dur"] == 500_000


def test_a_truncated_event_is_skipped(tmp_path):
    run = run_with_traces(tmp_path, sample_lines.plan())
    write_raw(run.path / "0.bin", LOOP, rest=b"half an event")
    slices = assert_trace_event_format(json.loads(convert(run).read_text()))
    assert [each["name"] for each in slices if each["cat"] != "window"] == ["loop", "nic_rx", "disp_rx"]


def test_a_loop_of_one_call_contains_the_call(tmp_path):
    run = run_with_traces(tmp_path, sample_lines.plan())
    write_raw(run.path / "0.bin", [(100, 200, 1, 0, 3), (100, 200, 1, 0, WHOLE_LOOP)])
    slices = assert_trace_event_format(json.loads(convert(run).read_text()))
    assert [each["cat"] for each in slices if each["cat"] != "window"] == ["loop", "client"]


@pytest.mark.parametrize("raw", [None, b"", b"WTTRACE1"])
def test_without_a_whole_header_there_is_no_trace(tmp_path, raw):
    run = run_with_traces(tmp_path, sample_lines.plan())
    if raw is not None:
        (run.path / "0.bin").write_bytes(raw)
    assert convert(run) is None and not (run.path / "trace.json").exists()


def test_a_file_that_is_not_a_trace_is_refused_and_kept(tmp_path):
    run = run_with_traces(tmp_path, sample_lines.plan())
    (run.path / "0.bin").write_bytes(b"precious" * 10)
    with pytest.raises(UserError, match="not a trace"):
        convert(run)
    assert (run.path / "0.bin").exists()


def test_two_engines_share_the_time_line(tmp_path):
    plans = [sample_lines.plan(("server",), wire="memif"), sample_lines.plan(("client",), wire="memif")]
    run = run_with_traces(tmp_path, *plans, names=("server", "client"))
    write_raw(run.path / "0.bin", [(100, 200, 0, 0, WHOLE_LOOP)])
    write_raw(run.path / "1.bin", [(100, 200, 0, 0, WHOLE_LOOP)], start_tsc=EPOCH + 2000)
    document = json.loads(convert(run).read_text())
    loops = [each for each in assert_trace_event_format(document) if each["name"] == "loop"]
    assert [(each["pid"], each["ts"]) for each in loops] == [(1000, 0.05), (2000, 1.05)]


def test_no_event_is_longer_than_the_limit_assumes(tmp_path):
    run = run_with_traces(tmp_path, sample_lines.plan())
    day = 24 * 3600 * 2 * 10**9
    write_raw(run.path / "0.bin", [(day, day * 2, (1 << 30) | STALLED, 1, stage) for stage in (1, WHOLE_LOOP)])
    assert max(map(len, convert(run).read_text().splitlines(keepends=True))) <= EVENT_BYTES_MOST


def test_a_real_run_is_traced(tmp_path):
    finished = execute(tmp_path, {"duration": "200ms", "warmup": "0s", "window": "100ms", "workload": [{"handler": "l_app"}]},
                change=lambda spec: spec.traced("trace.bin", 101, 1 << 20).into(tmp_path / "run").plans).run  # fmt: skip
    assert finished.record.verdict.reasons == []
    [engine] = finished.record.engines
    trace = engine.result.trace
    assert trace.fault is None and trace.events > 0
    raw = (tmp_path / "run" / "trace.bin").stat().st_size
    assert raw == HEADER.itemsize + trace.events * EVENT.itemsize
    slices = assert_trace_event_format(json.loads(convert(finished).read_text()))
    assert len(slices) == trace.events + len(finished.windows["windtunnel"])
    loops = [each for each in slices if each["name"] == "loop"]
    ran = sum(worker.loops for window in finished.windows["windtunnel"] for worker in window.workers)
    assert 0 < len(loops) <= ran // 101
    assert {each["name"] for each in slices} >= {"nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx", "app_tx"}
    moved = sum(each["args"]["objects"] for each in slices if each["cat"] in ("client", "server"))
    assert moved == sum(each["args"]["objects"] for each in loops)


def test_beyond_the_trace_limit_a_run_continues_and_says_so(tmp_path):
    finished = execute(tmp_path, {"duration": "100ms", "warmup": "0s", "window": "100ms", "workload": [{"handler": "l_app"}]},
                change=lambda spec: spec.traced("trace.bin", 1, 100).into(tmp_path / "run").plans).run  # fmt: skip
    assert finished.record.verdict.reasons == []
    trace = finished.record.engines[0].result.trace
    assert trace.events == 100 and trace.missed > 0


def test_run_writes_a_trace(tmp_path):
    """With the fake engine: it writes no trace, and that is no fault."""
    file = tmp_path / "echo.toml"
    file.write_text(SCENARIO.format(duration="60ms"))
    done = windtunnel("run", file, "--no-report", "--out", "here", "--trace-every", "13", cwd=tmp_path)
    assert done.returncode == 0
    assert "traced: 1 loop in 13 of every worker" in done.stdout
    record = json.loads((tmp_path / "here" / "run.json").read_text())
    trace = record["engines"][0]["plan"]["trace"]
    assert trace == {"path": str(tmp_path / "here" / "trace.bin"), "every": 13, "limit_events": (256 << 20) // 192}


def test_a_trace_that_would_fill_the_disk_is_refused(tmp_path, monkeypatch):
    spec = resolve(load(_echo(tmp_path)), here())
    monkeypatch.setattr(along.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 200 << 20}))
    with pytest.raises(UserError, match="--trace may take 288 MiB of the disk, .* has 200 MiB") as refused:
        along.traced(spec, tmp_path / "a" / "b", 997, "256MiB")
    assert "--trace-limit" in refused.value.remedy
    assert along.traced(spec, tmp_path, 997, "64MiB").plans[0].trace.limit_events == (64 << 20) // 192


@pytest.mark.parametrize("limit", ["much", "1", "5GiB"])
def test_an_invalid_limit_is_refused(tmp_path, limit):
    with pytest.raises(UserError, match="--trace-limit: "):
        along.traced(resolve(load(_echo(tmp_path)), here()), tmp_path, 997, limit)


def _echo(directory: Path) -> Path:
    file = directory / "echo.toml"
    file.write_text(SCENARIO.format(duration="60ms"))
    return file
