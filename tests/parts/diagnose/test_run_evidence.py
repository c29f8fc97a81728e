"""Evidence that a run brings itself: what --counters counted for its workers, the texts of --monitor, and the causes that these show."""

from dataclasses import replace

import pytest
from diagnosed_runs import made
from fake_tools import IOSTAT, PERF, TEXTS

from windtunnel.errors import UserError
from windtunnel.exchange.recorded.snapshots import head_of
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.recorded import read_evidence
from windtunnel.runs import counters, monitor
from windtunnel.runs.counters import Asked, Count

FILES = {
    "monitor-perf-stat.csv": PERF,
    "monitor-pcm-pcie.csv": TEXTS["pcm-pcie"],
    "monitor-pcm-iio.csv": TEXTS["pcm-iio"],
    "monitor-pcm-memory.csv": TEXTS["pcm-memory"],
    "monitor-ethtool-eth0.txt": "NIC statistics:\n  rx_packets: 1\n  rx_pause: 3\nNIC statistics:\n  rx_packets: 9\n  rx_pause: 7\n",
}


def keep(directory, files):
    directory.mkdir(exist_ok=True)
    kept = [
        monitor.Kept(metric="x", tool="x", file=name, command=[], begins_s=0, seconds=1, exit_code=0, error="")
        for name in files
    ]
    asked = monitor.Asked(metrics=["x"], cpus=[0], interfaces=[])
    (directory / monitor.FILE).write_text("".join(line.model_dump_json() + "\n" for line in (asked, *kept)))
    for name, text in files.items():
        (directory / name).write_text(text)


def a_run(tmp_path, files=None, **more):
    keep(tmp_path, files or {})
    return replace(made(**more), path=tmp_path)


def causes(run, **more):
    return {cause.code: cause for cause in diagnose(run, **more).causes if cause.observable == "recorded"}


def count(run, event, value, worker, unit=""):
    window = next(iter(run.windows.values()))[1]
    return Count(
        engine="windtunnel", window=window.index, at_ns=window.end_ns, worker=worker, cpu=worker, event=event, unit=unit,
        counted=value, value=value, enabled_ns=9, running_ns=9, level=False, user_only=False,
    )  # fmt: skip


def counted(tmp_path, events, **more):
    """A run whose two workers counted these events, as (event, of worker 0, of worker 1)."""
    run = a_run(tmp_path, **more)
    lines = [Asked(events=[event for event, *_ in events])]
    lines += [count(run, event, value, worker) for event, *values in events for worker, value in enumerate(values)]
    (tmp_path / counters.FILE).write_text("".join(line.model_dump_json() + "\n" for line in lines))
    return run


def test_texts_of_the_monitor_are_evidence_without_an_option(tmp_path):
    found = causes(a_run(tmp_path, FILES))
    assert "11% of loads that reach the last-level cache miss it (perf stat)" in found["shared-cache"].evidence
    assert "25% of the lines that devices wrote" in found["nic-writes"].evidence
    assert (
        "11% of the lines that devices read were not in the last-level cache (pcm-pcie)" in found["nic-reads"].evidence
    )
    assert found["iotlb"].evidence.startswith("5.0% of the translations of devices' addresses were not in the IOTLB")
    assert "rx_pause 4 (ethtool -S)" in found["pause-frames"].evidence
    assert "devices read 5.1 Gbit/s and wrote 10.2 Gbit/s (pcm-iio)" in found["pcie-link"].evidence
    assert all("not tried on hardware" in cause.not_measured for cause in found.values())


def test_no_miss_is_no_cause(tmp_path):
    texts = {
        "monitor-pcm-pcie.csv": TEXTS["pcm-pcie"].replace("0,1,20,5(Miss)", "0,0,0,0(Miss)"),
        "monitor-pcm-iio.csv": TEXTS["pcm-iio"].replace(",900,45", ",900,0"),
    }
    assert not {"nic-reads", "nic-writes", "iotlb"} & causes(a_run(tmp_path, texts)).keys()


def test_hits_of_older_processors_give_the_rate_too(tmp_path):
    text = TEXTS["pcm-iio"].replace("IOTLB Lookup", "IOTLB Hit").replace(",900,45", ",75,25")
    assert causes(a_run(tmp_path, {"monitor-pcm-iio.csv": text}))["iotlb"].evidence.startswith("25.0% of the transl")


def test_the_rate_of_reads_of_a_report_counts_too(tmp_path):
    report = "----begin all measurement----\nIO Read Miss Rate: 0.4\n"
    (tmp_path / "report.rpt").write_text(report)
    assert causes(made(), recorded=read_evidence([tmp_path / "report.rpt"]))["nic-reads"].evidence.startswith("40% of")


def test_counters_of_the_workers_are_evidence(tmp_path):
    run = counted(tmp_path, [("LLC-loads", 1000, 200), ("LLC-load-misses", 100, 20)])
    assert (
        "10% of loads that reach the last-level cache miss it (run --counters)" in causes(run)["shared-cache"].evidence
    )


def test_a_worker_that_counted_one_of_both_is_left_out(tmp_path):
    run = counted(tmp_path, [("LLC-loads", 1000, 200), ("LLC-load-misses", 100)])
    assert "10% of loads" in causes(run)["shared-cache"].evidence


def frame_bytes(run):
    windows = [window for of in run.windows.values() for window in of]
    return sum(port.rx_bytes + port.tx_bytes for window in windows for port in window.ports)


@pytest.mark.parametrize(("times", "is_one"), [(3.0, True), (0.5, False)])
def test_memory_that_moves_more_than_the_frames_is_a_cause(tmp_path, times, is_one):
    run = a_run(tmp_path)
    windows = [window for of in run.windows.values() for window in of]
    seconds = (windows[-1].end_ns - windows[0].start_ns) / 1e9
    bytes_ = int(times * frame_bytes(run))
    run = counted(tmp_path, [("mbm-total", bytes_, 0)])
    assert ("memory-traffic" in causes(run)) == is_one
    text = head_of("/sys/fs/resctrl", 0) + "a/mbm_total_bytes 0\n" + head_of("/sys/fs/resctrl", seconds)
    (tmp_path / counters.FILE).unlink()
    keep(tmp_path, {"monitor-resctrl.txt": f"{text}a/mbm_total_bytes {bytes_}\n"})
    assert ("memory-traffic" in causes(run)) == is_one
    megabytes = bytes_ / seconds / 1e6
    pcm = TEXTS["pcm-memory"].replace("2000.00,600.00", f"{megabytes:.2f},0.00")
    keep(tmp_path, {"monitor-pcm-memory.csv": pcm})
    assert ("memory-traffic" in causes(run)) == is_one


def test_the_evidence_names_both_numbers(tmp_path):
    cause = causes(a_run(tmp_path, {"monitor-pcm-memory.csv": TEXTS["pcm-memory"].replace("2000.00", "200000.00")}))
    text = cause["memory-traffic"].evidence
    assert text.startswith("memory moves 200.60 GB/s (pcm-memory): ") and "B a message, whose frames have" in text


def test_a_text_that_cannot_be_read_is_named_and_ends_nothing(tmp_path):
    diagnosis = diagnose(a_run(tmp_path, {"monitor-pcm-iio.csv": "", "monitor-perf-stat.csv": PERF}))
    assert any(line.startswith("monitor-pcm-iio.csv: no text of a tool") for line in diagnosis.not_measured)
    assert "shared-cache" in {cause.code for cause in diagnosis.causes}


def test_a_directory_of_the_monitor_is_given_as_one(tmp_path):
    keep(tmp_path / "beside", FILES | {"monitor-perf-iostat.txt": IOSTAT})
    evidence = read_evidence([tmp_path / "beside"])
    assert {"shared-cache", "iotlb", "nic-reads"} <= causes(made(), recorded=evidence).keys()
    assert {measured.tool for measured in evidence.measured} == {"pcm-iio", "perf iostat"}
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no directory of the monitor"):
        read_evidence([tmp_path / "empty"])


def test_a_text_of_the_monitor_is_not_read_through_a_link(tmp_path):
    """Who sent the run may not read what it leads to."""
    run = a_run(tmp_path, {"monitor-perf-stat.csv": PERF})
    (tmp_path / "private").write_text(PERF)
    (tmp_path / "monitor-perf-stat.csv").unlink()
    (tmp_path / "monitor-perf-stat.csv").symlink_to(tmp_path / "private")
    assert not causes(run)
