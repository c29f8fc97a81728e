"""`--counters`: which events are taken, what counters.jsonl holds, and what of it is shown."""

import json
from typing import ClassVar

import pytest
import sample_lines as sample
from terminal_views import printed

from windtunnel.errors import UserError
from windtunnel.host.perf_events import Reading, Refused
from windtunnel.measure import counters
from windtunnel.measure.counters import Counting, parse
from windtunnel.results.page.renderer import render
from windtunnel.results.run.as_json import run_json
from windtunnel.results.run.document import run_document
from windtunnel.runs import RunWriter, Verdict, load
from windtunnel.runs.counters import FILE, MOST_REASONS, MOST_ROWS, event_rows, read_counters

NONE = "this processor or virtual machine has no such counter"


MANY = ",".join(f"r{n:x}" for n in range(33))


def test_events_by_name():
    names = ["cycles", "LLC-load-misses", "r01c2", "llc-occupancy"]
    assert parse("cycles, LLC-load-misses,r01c2,llc-occupancy") == names


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((text, "no such event") for text in ("cycels", "cycles,", "", "cycles:u", "cycles instructions")),
        ("cycles,cycles", "different ones"),
        (MANY, "different ones"),
    ],
)
def test_what_is_no_list_of_events_is_refused_with_what_is(text, words):
    with pytest.raises(UserError, match=words) as refused:
        parse(text)
    if words == "no such event":
        assert "context-switches" in refused.value.remedy and "mbm-total" in refused.value.remedy


class FakeEvent:
    """Readings by name: lists of (value, enabled, running), the first one as it is opened. A text refuses."""

    script: ClassVar[dict] = {}
    closed: ClassVar[list] = []

    def __init__(self, name, thread):
        self.name, self.thread, self.user_only = name, thread, name.endswith("misses")
        self.left = list(FakeEvent.script[name])
        if isinstance(self.left[0], str):
            raise Refused(self.left[0])

    def read(self):
        found = self.left.pop(0)
        if isinstance(found, str):
            raise Refused(found)
        return Reading(*found)

    def close(self):
        FakeEvent.closed.append((self.name, self.thread))


def executed(tmp_path, monkeypatch, script, thread=4711, windows=None):
    """A run directory whose one engine's windows were counted so."""
    monkeypatch.setattr(counters, "Event", FakeEvent)
    monkeypatch.setattr(FakeEvent, "script", script)
    monkeypatch.setattr(FakeEvent, "closed", [])
    plan = sample.plan()
    writer = RunWriter(tmp_path / "run", sample.spec([plan], ["windtunnel"]), {"hostname": "here"})
    counting = Counting(list(script))
    listen = counting.into(writer.held)
    for line in sample.engine_lines(plan):
        if line.type == "window":
            workers = [w.model_copy(update={"thread": thread and thread + w.worker}) for w in line.workers]
            line = line.model_copy(update={"workers": workers})
        writer.line("windtunnel", line, line.model_dump_json())
        listen("windtunnel", line, "")
    counting.close()
    return writer.finish(Verdict(True))


def ticking(step, enabled=100, running=100):
    return [(n * step, n * enabled, n * running) for n in range(100)]


def rows(run):
    return {(row.event, row.worker): row for row in event_rows(run)}


def test_counts_are_of_the_windows_that_count(tmp_path, monkeypatch):
    run = executed(tmp_path, monkeypatch, {"context-switches": ticking(3)})
    measured = [w for w in run.windows["windtunnel"] if w.phase == "measure"]
    assert run.windows["windtunnel"][0].phase != "measure", "the first window opens the events"
    row = rows(run)["context-switches", 0]
    assert row.value == 3 * len(measured) and row.windows == len(measured)
    assert row.counted_share == 1.0 and row.words is None
    responses = sum(w.responses for window in measured for w in window.workloads)
    assert row.a_message == pytest.approx(row.value / responses)
    lines = list(read_counters(run.path))
    assert lines[0].events == ["context-switches"]
    ends = {w.index: w.end_ns for w in run.windows["windtunnel"]}
    assert all(line.at_ns == ends[line.window] for line in lines[1:])
    assert sorted(FakeEvent.closed) == [("context-switches", 4711 + w.worker) for w in measured[0].workers]


def test_a_multiplexed_event_is_scaled_and_marked(tmp_path, monkeypatch):
    run = executed(tmp_path, monkeypatch, {"LLC-load-misses": ticking(10, enabled=100, running=25)})
    row = rows(run)["LLC-load-misses", 0]
    assert row.value == pytest.approx(40 * row.windows) and row.counted_share == 0.25
    assert row.words == "without the kernel's part; counted in 25% of the time, and scaled"
    line = list(read_counters(run.path))[1]
    assert (line.counted, line.value, line.enabled_ns, line.running_ns) == (10, 40.0, 100, 25)


def test_an_absent_event_has_its_reason_and_is_never_zero(tmp_path, monkeypatch):
    run = executed(tmp_path, monkeypatch, {"task-clock": ticking(7), "cycles": [NONE]})
    found = rows(run)
    assert [event for event, _ in found] == sorted((event for event, _ in found), key=["task-clock", "cycles"].index)
    assert found["cycles", 0].value is None and found["cycles", 0].words == NONE
    assert found["task-clock", 0].unit == "ns"
    texts = [json.loads(line) for line in (run.path / FILE).read_text().splitlines()]
    absent = ["absent" for _ in run.windows["windtunnel"][0].workers]
    assert [t["type"] for t in texts if t.get("event") == "cycles"] == absent


@pytest.mark.parametrize(
    ("script", "thread", "words"),
    [
        ([(0, n * 100, 0) for n in range(100)], 4711, "it never had a hardware counter"),
        ([(n * 5, n * 100, n * 100) for n in range(3)] + ["the thread has ended"], 4711, "the thread has ended"),
        ([(n, n * 100, n * 100) for n in range(100)], None, "does not say which thread"),
    ],
)
def test_why_an_event_was_not_counted_is_said(tmp_path, monkeypatch, script, thread, words):
    run = executed(tmp_path, monkeypatch, {"cycles": script}, thread)
    row = rows(run)["cycles", 0]
    assert words in row.words and row.windows < len(run.windows["windtunnel"]) - 1
    if words.startswith("it never"):
        assert row.value is None and list(read_counters(run.path))[1].value is None


def test_a_counter_of_64_bits_that_wraps_is_read_on(tmp_path, monkeypatch):
    script = [((n * 5 - 7) % 2**64, n * 10, n * 10) for n in range(100)]
    row = rows(executed(tmp_path, monkeypatch, {"cycles": script}))["cycles", 0]
    assert row.value == 5 * row.windows


class FakeGroup:
    def __init__(self, thread):
        self.bytes = [0, 10, 30, 20, *range(30, 10_000, 10)]

    def read(self, event):
        return self.bytes.pop(0)

    def close(self):
        raise OSError("the thread has ended")


def test_resctrl_counts_bytes_and_leaves_out_a_window_in_which_they_wrapped(tmp_path, monkeypatch):
    monkeypatch.setattr(counters.resctrl, "Group", FakeGroup)
    run = executed(tmp_path, monkeypatch, {"mbm-total": None})
    lines = [line for line in list(read_counters(run.path))[1:] if line.worker == 0]
    assert [line.counted for line in lines[:4]] == [10, 20, None, 10]
    row = rows(run)["mbm-total", 0]
    assert row.unit == "bytes" and row.counted_share is None
    wrapped = lines[2].window in {w.index for w in run.windows["windtunnel"] if w.phase == "measure"}
    assert wrapped and "windows" in row.words and row.a_message is None


def test_a_level_is_a_mean(tmp_path, monkeypatch):
    monkeypatch.setattr(counters.resctrl, "Group", FakeGroup)
    run = executed(tmp_path, monkeypatch, {"llc-occupancy": None})
    lines = [line for line in list(read_counters(run.path))[1:] if line.worker == 0]
    measured = {w.index for w in run.windows["windtunnel"] if w.phase == "measure"}
    seen = [line.counted for line in lines if line.window in measured]
    row = rows(run)["llc-occupancy", 0]
    assert row.value == pytest.approx(sum(seen) / len(seen))
    assert row.words == "mean over windows" and row.a_message is None


def test_they_are_shown_and_a_run_without_them_shows_nothing(tmp_path, monkeypatch):
    run = executed(tmp_path, monkeypatch, {"cycles": [NONE], "page-faults": ticking(1234)})
    document = run_document(load(run.path))
    shown, page = printed(document), render(document)
    total = f"{rows(run)['page-faults', 0].value:,.0f}"
    for text in (shown, page):
        assert "page-faults" in text and total in text and NONE in text
    assert [row["event"] for row in run_json(run)["events"]][:1] == ["cycles"]
    (run.path / FILE).unlink()
    assert event_rows(run) == [] and "Counted by the kernel" not in render(run_document(run))


def test_lines_that_somebody_sent_are_not_kept(tmp_path, monkeypatch):
    """An event that is absent again and again is one row with some reasons, and events without end are refused."""
    run = executed(tmp_path, monkeypatch, {"cycles": [NONE]})
    absent = {"type": "absent", "engine": "e", "worker": 0, "cpu": 0, "event": "cycles", "reason": "?"}
    with (run.path / FILE).open("a") as file:
        file.writelines(json.dumps(absent | {"reason": f"<{number}>"}) + "\n" for number in range(50))
    [row] = [row for row in event_rows(run) if row.engine == "e"]
    assert row.words.count("<") == MOST_REASONS
    with (run.path / FILE).open("a") as file:
        file.writelines(json.dumps(absent | {"worker": number}) + "\n" for number in range(MOST_ROWS + 1))
    with pytest.raises(UserError, match=f"{FILE}: more than {MOST_ROWS:,} events of workers"):
        event_rows(run)


WRONG_VERSION, MORE = '{"type":"asked","version":2,"events":[]}', '{"type":"asked","events":[],"more":1}'


@pytest.mark.parametrize("line", ["{}", "hello", '{"type":"count"}', WRONG_VERSION, MORE])
def test_a_malformed_line_is_refused_with_its_place(tmp_path, line):
    asked = '{"type":"asked","version":1,"events":["cycles"]}\n'
    (tmp_path / FILE).write_text(asked + line + "\n")
    with pytest.raises(UserError, match=f"{FILE}:2: "):
        list(read_counters(tmp_path))
    (tmp_path / FILE).write_text(asked + '{"type":"cou')
    assert len(list(read_counters(tmp_path))) == 1, "a crash cut it off"
