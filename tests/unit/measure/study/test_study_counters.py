"""`counters` of a study: what the kernel counts for the workers' threads is in the table, and in the report beside the rate."""

import json
from typing import ClassVar

import pytest
from report_plots import plots
from study_tools import HEAD, finished, invoke, on_paper, written
from terminal_views import printed

from windtunnel.errors import UserError
from windtunnel.host import perf_events
from windtunnel.host.perf_events import BLOCKED, Reading, Refused, blocked_store_forwards
from windtunnel.measure import counters
from windtunnel.measure.study.study import prepare
from windtunnel.results.page.renderer import render
from windtunnel.results.study import study_document
from windtunnel.runs.counters import FILE, read_counters

COUNTED = HEAD + 'repeats = 2\ncounters = ["LLC-load-misses", "blocked-store-forwards"]\n'
NONE = "this processor or virtual machine has no such counter"


class RecordedEvent:
    """An event that counts as `script` says: a step from reading to reading, or the reason why the host refuses it."""

    script: ClassVar[dict] = {}

    def __init__(self, name, thread):
        self.step, self.readings, self.user_only = RecordedEvent.script[name], 0, name == BLOCKED
        if isinstance(self.step, str):
            raise Refused(self.step)

    def read(self):
        self.readings += 1
        return Reading(self.step * self.readings, 100 * self.readings, 100 * self.readings)

    def close(self):
        pass


opened = counters.Counting._opened


def with_thread(worker):
    """A worker of the fake engine, as an engine with threads reports it."""
    return worker.model_copy(update={"thread": 4711 + worker.worker})


def counted(tmp_path, monkeypatch, script, head=COUNTED):
    """A study on the fake engine, whose events were recorded so."""
    monkeypatch.setenv("FAKE_ENGINE", "run")
    monkeypatch.setattr(counters, "Event", RecordedEvent)
    monkeypatch.setattr(RecordedEvent, "script", script)
    monkeypatch.setattr(
        counters.Counting, "_opened", lambda self, name, worker: opened(self, name, with_thread(worker))
    )
    with on_paper():
        return finished(written(tmp_path, head=head), tmp_path / "out")


def test_every_run_counts_and_the_table_has_them(tmp_path, monkeypatch):
    study = counted(tmp_path, monkeypatch, {"LLC-load-misses": 500, BLOCKED: NONE})
    for row in study.rows:
        run = study.path / row["directory"]
        lines = [line for line in read_counters(run) if line.type == "count"]
        assert {line.event for line in lines} == {"LLC-load-misses"}
        windows = [json.loads(line) for line in (run / "windows.jsonl").read_text().splitlines()]
        measured = {w["index"] for w in windows if w.get("phase") == "measure"}
        total = sum(line.value for line in lines if line.window in measured)
        assert row["LLC_load_misses"] == pytest.approx(total / row["responses"])
        assert row["blocked_store_forwards"] is None
        assert row["event_notes"] == [f"{BLOCKED}: {NONE}"]
    query = "select inflight, median(LLC_load_misses) m from results group by 1 having m > 0"
    assert len(invoke("study", "query", query, "--study", study.path, "--csv").split()) == 1 + len(study.record.points)


def test_an_event_is_drawn_beside_the_first_metric_and_another_one_has_its_reason(tmp_path, monkeypatch):
    study = counted(tmp_path, monkeypatch, {"LLC-load-misses": 500, BLOCKED: NONE})
    page = render(study_document(study))
    [chart] = [plot for plot in plots(page).values() if "yaxis2" in plot["layout"]]
    rate, misses = (trace for trace in chart["data"] if trace["mode"] == "lines+markers")
    assert (rate["name"], misses["name"]) == ("responses_per_s", "LLC_load_misses")
    assert misses["yaxis"] == "y2" and rate.get("yaxis") is None and rate["x"] == misses["x"]
    assert misses["y"] == [pytest.approx(row["LLC_load_misses"]) for row in study.rows if row["repeat"] == 1]
    assert "LLC-load-misses beside responses_per_s" in page
    assert page.count(f"not counted here: {BLOCKED}: {NONE}") == 1


def test_a_host_that_counts_nothing_has_one_sentence_and_no_plot(tmp_path, monkeypatch):
    study = counted(tmp_path, monkeypatch, {"LLC-load-misses": NONE, BLOCKED: NONE})
    page = render(study_document(study))
    assert f"not counted here: LLC-load-misses, {BLOCKED}: {NONE}" in page
    assert not [plot for plot in plots(page).values() if "yaxis2" in plot["layout"]]


def test_what_is_to_be_known_of_a_count_is_in_its_caption(tmp_path, monkeypatch):
    study = counted(tmp_path, monkeypatch, {"LLC-load-misses": NONE, BLOCKED: 3})
    assert "without the kernel" in render(study_document(study)).partition(f"{BLOCKED} is thin")[2][:400]


def test_an_event_is_a_metric_of_the_study_too(tmp_path, monkeypatch):
    head = COUNTED + 'metrics = ["responses_per_s", "LLC_load_misses"]\n'
    study = counted(tmp_path, monkeypatch, {"LLC-load-misses": 500, BLOCKED: 3}, head)
    assert "LLC_load_misses" in printed(study_document(study))


def test_without_the_key_there_is_no_file_and_no_column(tmp_path, monkeypatch):
    study = counted(tmp_path, monkeypatch, {}, HEAD)
    assert not list(study.path.rglob(FILE))
    assert "event_notes" not in invoke("study", "query", "from results limit 1", "--study", study.path, "--csv")


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ('counters = ["LLC-load-mises"]\n', r"far\.toml:3: counters: 'LLC-load-mises': no such event"),
        ('counters = ["cycles", "cycles"]\n', "2 events, 1 different ones"),
        ('counters = ["cycles"]\nmetrics = ["LLC_load_misses"]\n', 'no metric "LLC_load_misses"'),
    ],
)
def test_what_is_no_event_is_refused_at_its_line(tmp_path, head, words):
    with on_paper(), pytest.raises(UserError, match=words):
        prepare(written(tmp_path, head=HEAD + head), [], tmp_path / "out")


def test_a_factor_cannot_have_the_name_of_an_event(tmp_path):
    factor = '[[factor]]\nname = "Cycles"\nkey = "client.inflight"\nvalues = [8, 16]\n'
    with on_paper(), pytest.raises(UserError, match='"Cycles" is a column of the table already'):
        prepare(written(tmp_path, factor, HEAD + 'counters = ["cycles"]\n'), [], tmp_path / "out")


@pytest.mark.parametrize(
    ("vendor", "family", "model", "raw"),
    [
        ("GenuineIntel", "6", "62", 0x0203),  # Ivy Bridge, as in the thesis
        ("GenuineIntel", "6", "106", 0x0203),  # Ice Lake
        ("GenuineIntel", "6", "143", 0x8203),  # Sapphire Rapids
        ("AuthenticAMD", "25", "1", 0x0224),
    ],
)
def test_blocked_store_forwards_are_a_raw_event_of_the_processor(vendor, family, model, raw):
    assert blocked_store_forwards({"vendor_id": vendor, "cpu family": family, "model": model}) == raw


@pytest.mark.parametrize("processor", [{}, {"vendor_id": "GenuineIntel", "cpu family": "6", "model": "255"}])
def test_on_another_processor_they_are_refused_with_what_to_name(processor):
    with pytest.raises(Refused, match="r0203"):
        blocked_store_forwards(processor)
    assert perf_events.known(BLOCKED)
