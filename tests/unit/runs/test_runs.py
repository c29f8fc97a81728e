"""Run directories: written whole, read back the same, refused in words."""

import errno
import json
import os
import re
import resource
import runpy
import signal
import textwrap
from pathlib import Path

import numpy as np
import pytest
import sample_lines as sample
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from windtunnel.engine.histogram import Histogram
from windtunnel.engine.windows import Window
from windtunnel.errors import UserError
from windtunnel.runs import RunWriter, Verdict, files, load
from windtunnel.runs import writer as run_writer
from windtunnel.runs.directories import make_held
from windtunnel.runs.files import replace
from windtunnel.runs.histogram import percentile
from windtunnel.runs.record import DID_NOT_FINISH
from windtunnel.runs.validity import ExcludedWindow, Validity

HOST = {"hostname": "here", "cpus": {"model": "a processor", "allowed": [0, 1]}}


def begin(directory, plans=None, names=("windtunnel",), **about):
    """A writer that has had every line of these engines."""
    spec = sample.spec(plans, names, **about)
    writer = RunWriter(directory, spec, HOST)
    finished = {name: sample.engine_lines(plan) for name, plan in zip(spec.names, spec.plans, strict=True)}
    for name, lines in finished.items():
        for line in lines:
            writer.line(name, line, line.model_dump_json() + "\n")
    return writer, finished


def test_a_run_survives_the_round_trip(tmp_path):
    writer, finished = begin(tmp_path / "run", notes=["a note"])
    run = writer.finish(Verdict(True))
    again = load(tmp_path / "run")
    lines = finished["windtunnel"]
    assert again.record == run.record and again.windows == run.windows and again.problems == []
    assert again.windows["windtunnel"] == [line for line in lines if isinstance(line, Window)]
    engine = again.record.engines[0]
    assert [engine.hello, engine.ready, engine.result] == [lines[1], lines[3], lines[-1]]
    assert [phase.name for phase in engine.phases] == ["starting EAL", "opening ports"]
    assert again.record.verdict == Verdict(True) and again.record.finished >= again.record.started
    assert again.record.versions["dpdk"] == "DPDK 22.11.7" and again.record.host == HOST
    document = json.loads((tmp_path / "run" / "run.json").read_text())
    assert document["version"] == 6 and document["verdict"] == {"valid": True, "reasons": []}
    assert again.record.all_notes() == ["a note", "net_ring moves mbufs: no byte is copied on the wire"]


def test_a_run_goes_into_the_directory_that_was_made_whatever_takes_its_name(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.mkdir()
    writer, _ = begin(tmp_path / "empty")
    writer.finish(Verdict(True))
    spec = sample.spec()

    def make_and_swap(directory):
        made = make_held(directory)
        directory.rename(tmp_path / "moved")
        directory.symlink_to(victim)
        return made

    monkeypatch.setattr(run_writer, "make_held", make_and_swap)
    writer = RunWriter(tmp_path / "run", spec, HOST)
    for line in sample.engine_lines(spec.plans[0]):
        writer.line("windtunnel", line, line.model_dump_json() + "\n")
    writer.log_path("windtunnel").write_text("EAL")
    writer.finish(Verdict(True))
    assert not list(victim.iterdir()) and load(tmp_path / "moved").record.verdict == Verdict(True)
    names = {path.name for path in (tmp_path / "empty").iterdir()}
    assert {path.name for path in (tmp_path / "moved").iterdir()} == names | {"engine.log"}


@pytest.mark.parametrize("count", [0, 7])
def test_a_note_says_how_many_latencies_were_below_zero(tmp_path, count):
    writer, _ = begin(tmp_path / "run")
    record = writer.finish(Verdict(True)).record
    [engine] = record.engines
    [ledger] = engine.result.messages
    result = engine.result.model_copy(update={"messages": [ledger.model_copy(update={"negative_latency": count})]})
    changed = record.model_copy(update={"engines": [engine.model_copy(update={"result": result})]})
    notes = [note for note in changed.all_notes() if "stamp" in note]
    words = f"7 of {ledger.responses:,} responses of {engine.plan.workloads[0].name} have"
    assert [note[: len(words)] for note in notes] == ([words] if count else [])


def test_windows_keep_the_text_of_the_engine(tmp_path):
    _, finished = begin(tmp_path / "run")
    first = (tmp_path / "run" / "windows.jsonl").read_text().splitlines()[0]
    window = next(line for line in finished["windtunnel"] if isinstance(line, Window))
    assert first == '{"engine":"windtunnel",' + window.model_dump_json()[1:]


def test_two_engines_have_separate_windows_and_logs(tmp_path):
    plans = [sample.plan(("server",), wire="memif"), sample.plan(("client",), wire="memif")]
    writer, finished = begin(tmp_path / "run", plans, ("server", "client"))
    run = writer.finish(Verdict(False, ["peer lost: the other one"]))
    assert {p.name for p in map(writer.log_path, ("server", "client"))} == {"engine-server.log", "engine-client.log"}
    for name, lines in finished.items():
        assert run.windows[name] == [line for line in lines if isinstance(line, Window)]
    assert run.record.wire == "memif" and run.record.memory == "hugepages"
    one, _ = begin(tmp_path / "one", [sample.plan(("server",), wire="null")])
    log = one.log_path("windtunnel")
    assert log.name == "engine.log" and log.parent.samefile(tmp_path / "one")
    assert not (tmp_path / "one" / "latency.hlog").exists(), "it has no client"


def test_an_unfinished_run_is_recorded_as_such_from_the_start(tmp_path):
    RunWriter(tmp_path / "run", sample.spec(), HOST)
    run = load(tmp_path / "run")
    assert run.record.verdict == Verdict(False, [DID_NOT_FINISH])
    assert run.record.finished is None and run.windows == {"windtunnel": []}


def test_existing_directory_is_refused(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").write_text("keep")
    with pytest.raises(UserError, match="exists already"):
        RunWriter(tmp_path / "run", sample.spec(), HOST)
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["mine"]


def test_an_unwritable_directory_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written: Not a directory"):
        RunWriter(tmp_path / "file" / "run", sample.spec(), HOST)


def test_what_is_in_the_way_of_a_temporary_file_is_named(tmp_path):
    """In a directory like /tmp another user can make it."""
    (tmp_path / ".page.html.tmp").mkdir()
    with pytest.raises(
        UserError, match=r"page\.html: cannot be written: \S*/\.page\.html\.tmp, under which"
    ) as refused:
        replace(tmp_path / "page.html", "text")
    assert "a directory of your own" in refused.value.remedy


@pytest.mark.parametrize("verdict", [(True, ["why"]), (False, [])])
def test_a_verdict_has_reasons_exactly_when_invalid(verdict):
    with pytest.raises(ValueError, match="a verdict is valid without reasons"):
        Verdict(*verdict)


def forked(act) -> int:
    """How a fork of this process ended that does this and nothing else."""
    child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_kill_9_leaves_every_finished_window(tmp_path):
    def write_five_windows():
        writer, windows = RunWriter(tmp_path / "run", sample.spec(), {}), 0
        for line in sample.engine_lines(sample.plan()):
            writer.line("windtunnel", line, line.model_dump_json())
            windows += isinstance(line, Window)
            if windows == 5:
                os.kill(os.getpid(), signal.SIGKILL)

    assert forked(write_five_windows) == -signal.SIGKILL
    run = load(tmp_path / "run")
    assert len(run.windows["windtunnel"]) == 5 and run.problems == []
    assert run.record.verdict == Verdict(False, [DID_NOT_FINISH])
    assert run.record.engines[0].hello is not None and run.record.engines[0].result is None
    assert len(intervals(tmp_path / "run" / "latency.hlog")) == 3


def test_full_disk_leaves_whole_lines_and_a_remedy(tmp_path):
    def write_until_full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        writer = RunWriter(tmp_path / "run", sample.spec(), {})
        try:
            for line in sample.engine_lines(sample.plan()):
                writer.line("windtunnel", line, line.model_dump_json())
        except UserError as error:
            (tmp_path / "error").write_text(f"{error.message} | {error.remedy}")
            writer.finish(Verdict(False, ["run directory: full"]))

    assert forked(write_until_full) == 0
    words = (tmp_path / "error").read_text()
    assert "windows.jsonl: cannot be written: File too large" in words and "free some space" in words
    run = load(tmp_path / "run")
    assert run.problems == [] and 0 < len(run.windows["windtunnel"]) < len(sample.PHASES)
    assert run.record.verdict.reasons == ["run directory: full"]


def test_failed_replacement_keeps_the_old_file(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "run.json"
    files.replace(path, "old")
    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        files.replace(path, "new")
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["run.json"]


def test_a_truncated_last_window_is_skipped_and_reported(tmp_path):
    begin(tmp_path / "run")[0].finish(Verdict(True))
    path = tmp_path / "run" / "windows.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    run = load(tmp_path / "run")
    assert len(run.windows["windtunnel"]) == len(sample.PHASES) - 1
    count = len(sample.PHASES)
    assert run.problems == [
        f"windows.jsonl:{count}: cut off by a crash and ignored; {count - 1} whole windows before it"
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "windows.jsonl:3: not a window"),
        ("[]", "windows.jsonl:3: not a window"),
        ('{"engine":"stranger"}', "windows.jsonl:3: not a window"),
        ('{"engine":"windtunnel","type":"window"}', "windows.jsonl:3: index: Field required"),
    ],
)
def test_damage_in_the_middle_is_an_error_with_its_line(tmp_path, line, said):
    begin(tmp_path / "run")[0].finish(Verdict(True))
    path = tmp_path / "run" / "windows.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], line, *lines[3:]]) + "\n")
    with pytest.raises(UserError, match=said):
        load(tmp_path / "run")


@pytest.mark.parametrize(
    ("part", "key", "value", "refusal"),
    [
        ("workloads", "workload", 7, "workload 7, and the plan has 1"),
        ("workloads", "workload", -1, "workload -1, and the plan has 1"),
        ("stages", "worker", 9, "worker 9, and the plan has"),
    ],
)
def test_a_window_of_what_the_plan_does_not_have_is_refused(tmp_path, part, key, value, refusal):
    begin(tmp_path / "run")[0].finish(Verdict(True))
    path = tmp_path / "run" / "windows.jsonl"
    windows = [json.loads(line) for line in path.read_text().splitlines()]
    windows[1][part][0][key] = value
    path.write_text("".join(json.dumps(window) + "\n" for window in windows))
    with pytest.raises(UserError, match=rf"windows\.jsonl:2: {refusal}"):
        load(tmp_path / "run")


@pytest.mark.parametrize("number", [0, -1, 10**40])
def test_a_window_of_a_variant_that_the_plan_does_not_have_is_refused(tmp_path, number):
    """It would be a place in an array."""
    begin(tmp_path / "run")[0].finish(Verdict(True))
    path = tmp_path / "run" / "windows.jsonl"
    windows = [json.loads(line) for line in path.read_text().splitlines()]
    windows[1]["variant"] = number
    path.write_text("".join(json.dumps(window) + "\n" for window in windows))
    with pytest.raises(UserError, match=rf"windows\.jsonl:2: variant {number}, and the plan has 0"):
        load(tmp_path / "run")


@pytest.mark.parametrize(
    ("key", "value"), [("bits", -(1 << 33)), ("bits", 1 << 33), ("counts", [[1 << 9999, 1]]), ("counts", [[1, -1]])]
)
def test_a_histogram_that_no_engine_writes_is_refused(tmp_path, key, value):
    """Such a number would be the size of an array, or of a shift."""
    begin(tmp_path / "run")[0].finish(Verdict(True))
    path = tmp_path / "run" / "windows.jsonl"
    windows = [json.loads(line) for line in path.read_text().splitlines()]
    windows[1]["workloads"][0]["latency"][key] = value
    path.write_text("".join(json.dumps(window) + "\n" for window in windows))
    with pytest.raises(UserError, match=rf"windows\.jsonl:2: .*latency\.{key}"):
        load(tmp_path / "run")


@pytest.mark.parametrize(
    ("keep", "refusal"),
    [
        (1, r"run\.json: engines\.0: .*a worker has a stage of endpoint 1"),
        (2, r"windows\.jsonl:1: a stage of the client"),
    ],
)
def test_stages_of_an_endpoint_that_the_plan_does_not_have_are_refused(tmp_path, keep, refusal):
    begin(tmp_path / "run")[0].finish(Verdict(True))
    path = tmp_path / "run" / "run.json"
    record = json.loads(path.read_text())
    plan = record["engines"][0]["plan"]
    (server,) = [endpoint for endpoint in plan["endpoints"] if endpoint["side"] == "server"]
    plan["endpoints"] = [server] * keep
    path.write_text(json.dumps(record))
    with pytest.raises(UserError, match=refusal):
        load(tmp_path / "run")


def test_a_result_of_what_the_plan_does_not_have_is_refused(tmp_path):
    begin(tmp_path / "run")[0].finish(Verdict(True))
    path = tmp_path / "run" / "run.json"
    record = json.loads(path.read_text())
    record["engines"][0]["result"]["messages"][0]["workload"] = 7
    path.write_text(json.dumps(record))
    with pytest.raises(UserError, match=r"run\.json: engines\.0: .*the result has workload 7, and the plan has 1"):
        load(tmp_path / "run")


@pytest.mark.parametrize("name", ["run.json", "windows.jsonl"])
def test_what_is_no_file_or_has_no_end_is_refused_at_once(tmp_path, name):
    begin(tmp_path / "run")[0].finish(Verdict(True))
    file = tmp_path / "run" / name
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(UserError, match=f"{name}: cannot be read: not a regular file"):
        load(tmp_path / "run")
    file.unlink()
    file.mkdir()
    with pytest.raises(UserError, match=f"{name}: cannot be read: "):
        load(tmp_path / "run")
    file.rmdir()
    file.write_text("[" * 200_000 + "\n")
    with pytest.raises(UserError, match=f"{name}:? ?.*(not JSON|not a window)"):
        load(tmp_path / "run")


@pytest.mark.parametrize(
    ("name", "size", "said"),
    [
        ("run.json", 9 << 20, "run.json: larger than 4MiB"),
        ("windows.jsonl", 3 << 30, "windows.jsonl: larger than 1GiB"),
        ("windows.jsonl", 1 << 30, r"windows.jsonl:\d+: longer than 4MiB"),
    ],
)
def test_a_record_has_a_bound(tmp_path, name, size, said):
    """A hole in a file costs its sender nothing, and its reader as much memory as it is long."""
    begin(tmp_path / "run")[0].finish(Verdict(True))
    os.truncate(tmp_path / "run" / name, size)
    with pytest.raises(UserError, match=said):
        load(tmp_path / "run")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scenario": {"server": 3}}, "scenario: .*server is no table"),
        ({"scenario": {"validity": []}}, "scenario: .*validity is no table"),
        ({"scenario": {"workload": [[3]]}}, "scenario: .*workload is no list of tables"),
        ({"host": {"cpus": None}}, "host: .*cpus is no table"),
        ({"host": {"cpus": {"allowed": 3}}}, "host: .*cpus is no table"),
        ({"host": {"server": {"cpus": "x"}}}, "host: .*cpus is no table"),
    ],
)
def test_a_record_whose_tables_are_none_is_refused_with_the_place(tmp_path, change, said):
    begin(tmp_path / "run")[0].finish(Verdict(True))
    file = tmp_path / "run" / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(UserError, match=said):
        load(tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("[]", "record of version None"),
        ('{"version": 99}', "record of version 99, this windtunnel reads versions 5 to 6"),
        ('{"version": 6}', "title: Field required"),
    ],
)
def test_other_documents_than_records_are_refused(tmp_path, text, said):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UserError, match=said):
        load(tmp_path)
    with pytest.raises(UserError, match="not a run directory"):
        load(tmp_path / "other")


def intervals(path: Path) -> list[HdrHistogram]:
    reader = HistogramLogReader(str(path), HdrHistogram(1, 60_000_000_000, 3))
    read = []
    while (interval := reader.get_next_interval_histogram()) is not None:
        read.append(interval)
    return read


def test_the_hdrh_package_reads_the_latency_log(tmp_path):
    _, finished = begin(tmp_path / "run")
    measured = [line for line in finished["windtunnel"] if isinstance(line, Window) and line.phase == "measure"]
    read = intervals(tmp_path / "run" / "latency.hlog")
    assert [i.get_total_count() for i in read] == [w.workloads[0].responses for w in measured]
    assert {i.get_tag() for i in read} == {"echo"}
    assert read[0].get_end_time_stamp() - read[0].get_start_time_stamp() == pytest.approx(500, abs=1)
    for interval, window in zip(read, measured, strict=True):
        assert interval.get_max_value() >= window.workloads[0].latency.max >= interval.get_min_value()


def test_excluded_windows_have_tags_of_their_own(tmp_path):
    """So that another tool's p99 of the workload's tag is of the windows that ours is of."""
    writer, finished = begin(tmp_path / "run")
    measured = [line for line in finished["windtunnel"] if isinstance(line, Window) and line.phase == "measure"]
    gone = measured[1].index
    marks = [ExcludedWindow(engine=name, window=gone, reasons=["preempted"]) for name in ("windtunnel", "another")]
    writer.finish(Verdict(True), Validity(checks=[], excluded=marks))
    read = intervals(tmp_path / "run" / "latency.hlog")
    assert [i.get_tag() for i in read] == ["echo-excluded" if w.index == gone else "echo" for w in measured]
    assert [i.get_total_count() for i in read] == [w.workloads[0].responses for w in measured]


def test_the_program_of_the_page_counts_what_the_run_counts(tmp_path, monkeypatch, capsys):
    writer, finished = begin(tmp_path / "run")
    measured = [line for line in finished["windtunnel"] if isinstance(line, Window) and line.phase == "measure"]
    marks = [ExcludedWindow(engine="windtunnel", window=measured[1].index, reasons=["preempted"])]
    writer.finish(Verdict(True), Validity(checks=[], excluded=marks))
    page = (Path(__file__).parents[3] / "docs" / "reference" / "export.md").read_text()
    program = textwrap.dedent(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]).replace("l_app", "echo")
    monkeypatch.chdir(tmp_path / "run")
    Path("program.py").write_text(program)
    scope = runpy.run_path("program.py")
    left = [line.workloads[0].responses for line in measured if line is not measured[1]]
    assert scope["counted"].get_total_count() == sum(left)
    assert capsys.readouterr().out == f"{scope['counted'].get_value_at_percentile(99)} ns\n"


def test_a_tag_cannot_break_the_log(tmp_path):
    plan = sample.plan()
    evil = plan.model_copy(update={"workloads": [plan.workloads[0].model_copy(update={"name": "a,b c\nd"})]})
    begin(tmp_path / "run", [evil])
    assert {i.get_tag() for i in intervals(tmp_path / "run" / "latency.hlog")} == {"a_b_c_d"}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@examples(25)
@given(
    title=st.text(),
    notes=st.lists(st.text(), max_size=3),
    resolved=st.dictionaries(st.text(), JSON, max_size=3),
    reasons=st.lists(st.text(), max_size=3),
)
def test_any_text_survives_the_round_trip(tmp_path_factory, title, notes, resolved, reasons):
    directory = tmp_path_factory.mktemp("any") / "run"
    spec = sample.spec(title=title, notes=notes, resolved=resolved)
    written = RunWriter(directory, spec, HOST).finish(Verdict(not reasons, reasons))
    record = load(directory).record
    assert record == written.record
    assert (record.title, record.notes, record.scenario) == (title, notes, resolved)
    assert record.verdict == Verdict(not reasons, reasons)


def test_emulated_faults_are_marked_for_each_sender(tmp_path):
    faults = {"loss": 0.01, "duplicate": 0.0, "reorder": 0.0025, "reorder_depth": 4}
    writer, _ = begin(tmp_path / "run", [sample.plan(faults=faults)])
    assert writer.finish(Verdict(True)).record.emulated == [
        "emulated on what client and server send: loss 1%, reordering 0.25% (by up to 4 packets)"
    ]


def test_the_sample_closes_its_ledgers():
    for line in sample.engine_lines(sample.plan(), lost=7):
        if isinstance(line, Window):
            for stage in line.stages:
                assert stage.objects == sum(size * calls for size, calls in stage.burst.items())
                assert stage.calls - stage.empty_calls == sum(stage.burst.values())
            for workload in line.workloads:
                assert workload.sent == workload.responses + workload.lost
                assert workload.latency.total == workload.responses == sum(n for _, n in workload.latency.counts)
    assert np.all([ledger.missing == 0 for ledger in (*line.mbufs, *line.packets, *line.messages)])


def test_a_histogram_that_says_more_samples_than_it_has_is_refused_in_words():
    histogram = Histogram(bits=11, counts=[(14, 99), (37, 55)], total=301, sum=3421, min=14, max=37)
    with pytest.raises(UserError, match="a histogram of 301 samples has only 154 in its buckets"):
        percentile(histogram, 99)
