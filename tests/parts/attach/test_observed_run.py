"""The run directory of an observation, and what every command shows of it."""

import json

import pytest
from observed_samples import TSC_HZ, busy_windows, channel, port, window
from terminal_views import printed

from windtunnel import compare
from windtunnel.errors import UserError
from windtunnel.index.entry import read_entry
from windtunnel.parts.attach.observed_run import ObservedRunWriter
from windtunnel.parts.attach.observed_windows import FILE, windows_of
from windtunnel.parts.attach.processes import Application
from windtunnel.results.markdown import render
from windtunnel.results.page.renderer import render as render_page
from windtunnel.results.run.as_json import run_json
from windtunnel.results.run.document import run_document
from windtunnel.results.run.outcome import write_report
from windtunnel.runs import load

TESTPMD = Application(
    pid=77, command=("/usr/bin/dpdk-testpmd", "-l", "0,1"), release="22.11", prefix="rte", runtime=None
)


def observed(directory, windows, reasons=()):
    writer = ObservedRunWriter(directory, TESTPMD, "22.11")
    for line in windows:
        writer.append(line)
    return writer.finish(reasons, TSC_HZ)


@pytest.fixture
def saturated(tmp_path):
    return observed(tmp_path / "run", busy_windows({32: 1.0}, burst=320, packet=40))


def text_of(run):
    return render(run_document(run))


def test_the_thread_that_limits_is_named(saturated):
    text = text_of(saturated)
    assert "Lcore 1 limits" in text
    assert "25.0" in text  # ns a packet
    assert "observed: dpdk-testpmd is another program" in text


def test_windows_are_read_back_as_they_were_written(saturated):
    assert windows_of(saturated.path) == busy_windows({32: 1.0}, burst=320, packet=40)


def test_a_run_begins_as_one_that_did_not_finish(tmp_path):
    ObservedRunWriter(tmp_path / "run", TESTPMD, "22.11")
    run = load(tmp_path / "run")
    assert run.record.verdict.reasons == ["did not finish"]
    assert not run.has_metrics


def test_it_is_in_the_list_of_runs(saturated):
    """An index has its rows, although no part has any of it."""
    entry = read_entry(saturated.path / "run.json")
    assert (entry.title, entry.problem) == ("dpdk-testpmd, observed", None)


def test_all_files_are_in_the_directory_that_was_made(tmp_path):
    """Another user, whose directory it is made in, puts a link to a run of the user who is attacked in its place."""
    victim = observed(tmp_path / "victim", busy_windows({8: 1.0}, burst=320, packet=40)).path
    before = {path.name: path.read_bytes() for path in victim.iterdir()}
    writer = ObservedRunWriter(tmp_path / "run", TESTPMD, "22.11")
    (tmp_path / "run").rename(tmp_path / "moved")
    (tmp_path / "run").symlink_to(victim)
    for line in busy_windows({32: 1.0}, burst=320, packet=40):
        writer.append(line)
    run = writer.finish((), TSC_HZ)
    assert (run.path, run.record.observed.stages[0].mean_burst) == (tmp_path / "run", 32.0)
    write_report(run, writer.held)
    assert {path.name: path.read_bytes() for path in victim.iterdir()} == before
    assert {path.name for path in (tmp_path / "moved").iterdir()} == {"run.json", FILE, "report.html"}


def test_a_directory_that_exists_is_refused(saturated):
    with pytest.raises(UserError, match="exists"):
        ObservedRunWriter(saturated.path, TESTPMD, "22.11")


def test_too_few_windows_make_it_invalid_and_are_shown_as_rejected(tmp_path):
    spoiled = [
        w.model_copy(update={"excluded": "thread 4711 was preempted"})
        for w in busy_windows({32: 1.0}, burst=320, packet=40)
    ]
    run = observed(tmp_path / "run", spoiled)
    [reason] = run.record.verdict.reasons
    assert reason == (
        "windows: 0 of 10 are left, and 5 are needed; 10 were excluded, the last one because thread 4711 was preempted"
    )
    assert run.rejected
    assert "the metrics are rejected" in text_of(run)


def test_an_application_that_ended_is_the_reason(tmp_path):
    run = observed(
        tmp_path / "run", busy_windows({32: 1.0}, burst=320, packet=40), ["application ended: the process has ended"]
    )
    assert not run.record.verdict.valid


def test_room_that_is_not_known_names_the_next_step(tmp_path):
    run = observed(tmp_path / "run", busy_windows({0: 0.7, 8: 0.3}, burst=320, packet=40))
    assert "No thread limits: the load does" in text_of(run)
    assert "--headroom" in text_of(run)


def test_room_is_predicted_from_bursts_that_vary(tmp_path):
    run = observed(tmp_path / "run", busy_windows({0: 0.6, 2: 0.2, 8: 0.1, 32: 0.1}, burst=320, packet=40))
    assert "of its capacity. Predicted from its own bursts" in text_of(run)


@pytest.mark.parametrize(
    ("lost", "sentence"),
    [({"imissed": 7}, "Port 0 missed 70 packets"), ({"rx_nombuf": 3}, "Port 0 found no mbuf for 30 packets")],
)
def test_losses_are_named_with_where(tmp_path, lost, sentence):
    windows = [window(n, [channel({0: 50, 4: 10})], [port(**lost)]) for n in range(10)]
    assert sentence in text_of(observed(tmp_path / "run", windows))


def test_packets_that_a_driver_refused_are_named(tmp_path):
    sent = channel({32: 10}, receives=False, refused=100)
    windows = [window(n, [channel({32: 10}), sent], [port()]) for n in range(10)]
    assert "handed over 1,000 packets" in text_of(observed(tmp_path / "run", windows))


def test_it_goes_through_json_and_page(saturated):
    document = run_json(saturated)
    assert document["observed"]["program"] == "dpdk-testpmd"
    assert [row["stage"] for row in document["metrics"]["stages"]] == ["driver rx", "application", "driver tx"]
    json.dumps(document)
    assert "Threads of the data path" in render_page(run_document(saturated))


def test_a_terminal_shows_the_threads(saturated):
    assert "lcore 1" in printed(run_document(saturated))


@pytest.mark.parametrize(
    "damage",
    [b"{}\n", b"[]\n", b"not json\n", b'{"index":-1}\n', b"\xff\n", b"[" * 2000 + b"\n"],
)
def test_a_damaged_window_is_refused_with_its_line(saturated, damage):
    file = saturated.path / FILE
    file.write_bytes(file.read_bytes() + damage)
    with pytest.raises(UserError, match=f"{FILE}:11: "):
        text_of(saturated)


def test_a_line_that_a_crash_cut_off_is_left_out(saturated):
    file = saturated.path / FILE
    file.write_bytes(file.read_bytes()[:-10])
    assert len(windows_of(saturated.path)) == 9


def test_a_record_without_anything_measured_is_refused(saturated):
    file = saturated.path / "run.json"
    document = json.loads(file.read_text()) | {"observed": None}
    file.write_text(json.dumps(document))
    with pytest.raises(UserError, match="imported or observed"):
        load(saturated.path)


def test_its_queues_are_in_the_record(saturated):
    [queue] = saturated.record.observed.queues
    assert (queue.port, queue.queue, queue.receives) == (0, 0, True)
    assert queue.packets_per_s == pytest.approx(TSC_HZ / 50, rel=1e-3)
    assert set(queue.bursts) == {32}


def observations(directory, packet):
    directory.mkdir()
    for number in range(6):
        observed(directory / str(number), busy_windows({32: 1.0}, burst=320, packet=packet, count=6))
    return directory


def test_two_builds_are_compared_by_rate_and_by_part(tmp_path):
    before, after = (observations(tmp_path / name, packet) for name, packet in (("before", 40), ("after", 44)))
    comparison = compare(before, after)
    [point] = comparison.points
    assert [judged.verdict for judged in point.judged] == ["slower"]
    (application,) = [measure for measure in point.measures if measure.metric == "lcore 1.application.work_ns"]
    assert (application.shown, application.interval.percent) == (True, pytest.approx(100 * 2 / 15, rel=0.01))


def test_it_has_a_row_in_the_index_and_a_history(tmp_path):
    entry = read_entry(observations(tmp_path / "builds", 40) / "0/run.json")
    assert (entry.kind, entry.verdict, entry.problem) == ("run", "observed", None)
    assert entry.history_row is not None
