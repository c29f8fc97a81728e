"""The monitor: which tools it starts, in which order, what it keeps of them, and how they end. The tools are scripts that print recorded texts."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sample_lines as sample
from fake_tools import PERF, TEXTS, XEON, all_tools, monitor, printing, tool
from terminal_views import printed

from windtunnel.errors import UserError
from windtunnel.host.installed import installed
from windtunnel.measure.monitor import snapshots
from windtunnel.measure.monitor.guard import MOST_BYTES
from windtunnel.measure.monitor.monitor import Request, RunMonitor
from windtunnel.measure.monitor.tools import METRICS, TOOLS, Processor, metrics_of
from windtunnel.results.monitor import monitor_document
from windtunnel.results.run.document import run_document
from windtunnel.runs import RunWriter, Verdict
from windtunnel.runs.monitor import FILE, Absent, Asked, Kept, monitored_texts, read_monitor

OTHER = Processor("AuthenticAMD", virtual=True, has_iio=False, root=True)
BOUND_S = 20.0


def conduct(place, folder, *metrics, processor=XEON, **more):
    monitor(Request(metrics, [0], seconds=1, **more), place, folder, processor).conduct()
    asked, *lines = read_monitor(place)
    assert asked == Asked(metrics=[*metrics], cpus=[0], interfaces=[*(more.get("interfaces") or ())])
    return {(line.metric, line.tool): line for line in lines}


def until(condition):
    end = time.monotonic() + BOUND_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_program_is_taken_if_nobody_else_can_change_it(tmp_path):
    program = tool(tmp_path / "bin", "pcm", "true")
    assert installed("pcm", [tmp_path / "none", tmp_path / "bin"]) == program
    (tmp_path / "link").mkdir()
    (tmp_path / "link/pcm").symlink_to(program)
    assert installed("pcm", [tmp_path / "link"]) == program
    (tmp_path / "link").chmod(0o777)
    assert installed("pcm", [tmp_path / "link"]) is None
    (tmp_path / "link").chmod(0o755)
    assert installed("other", [tmp_path / "bin"]) is None
    program.chmod(0o644)
    assert installed("pcm", [tmp_path / "bin"]) is None
    program.chmod(0o777)
    assert installed("pcm", [tmp_path / "bin"]) is None
    program.chmod(0o755)
    program.parent.chmod(0o777)
    assert installed("pcm", [tmp_path / "bin"]) is None


def test_path_is_not_asked(tmp_path, monkeypatch):
    tool(tmp_path, "pcm-of-path", "true")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installed("pcm-of-path") is None


@pytest.mark.parametrize("text", ["", "llc,", "llcs", "llc,llc", "llc pcie"])
def test_what_is_no_list_of_metrics_is_refused_with_what_is(text):
    with pytest.raises(UserError) as refused:
        metrics_of(text)
    assert all(name in refused.value.remedy for name in METRICS)
    assert metrics_of("all") == list(METRICS) and metrics_of("llc, cpus") == ["llc", "cpus"]


@pytest.mark.parametrize(
    ("processor", "metric", "reason"),
    [
        (OTHER, "memory", "this one is of AuthenticAMD"),
        (Processor("GenuineIntel", True, False, True), "pcie", "a virtual machine has no counters"),
        (Processor("GenuineIntel", False, True, False), "iio", "root alone reads these counters"),
        (OTHER, "iio", "this kernel has no uncore_iio"),
    ],
)
def test_what_a_host_does_not_have_is_named(processor, metric, reason):
    reasons = [str(tool.lacks(processor)) for tool in TOOLS if tool.metric == metric]
    assert any(reason in text for text in reasons)
    assert not any(tool.lacks(XEON) for tool in TOOLS)


@pytest.mark.slow
def test_each_switch_starts_its_tools_and_keeps_their_texts(tmp_path):
    folder, place = all_tools(tmp_path / "bin"), tmp_path / "kept"
    lines = conduct(place, folder, *METRICS, interfaces=["lo"])
    kept = {tool: line for (_, tool), line in lines.items() if isinstance(line, Kept)}
    assert kept.keys() - {"resctrl"} == {*(tool.name for tool in TOOLS), "ethtool -S", "/proc/stat"}
    assert all(line.exit_code in (0, None) and line.error == "" for line in kept.values())
    for name, text in TEXTS.items():
        assert (place / kept[name].file).read_text() == text
    assert (place / kept["perf stat"].file).read_text() == PERF
    assert (place / kept["ethtool -S"].file).read_text().count("rx_pause: 4") == 2
    assert (place / "monitor-proc-stat.txt").read_text().count("cpu0 ") == 2
    assert {path.name for path in monitored_texts(place)} == {path.name for path in place.iterdir()} - {FILE}
    options = {name: line.command[1:] for name, line in kept.items()}
    assert options["pcm-iio"] == ["1", "-csv", "-root-port", "-i=1"]
    assert options["pcm-pcie"] == ["1", "-e", "-B", "-csv", "-i=1"]
    assert options["perf stat"][4:7] == ["-a", "-C", "0"] and "LLC-load-misses" in options["perf stat"][8]
    assert all(Path(line.command[0]).parent == folder for name, line in kept.items() if line.command)


@pytest.mark.slow
def test_only_what_was_asked_for_is_started_and_one_after_the_other(tmp_path):
    folder = all_tools(tmp_path / "bin")
    conduct(tmp_path / "kept", folder, "pcie", "iio")
    events = [line.split()[0] for line in (folder / "order").read_text().splitlines()]
    assert events == ["begins", "ends"] * 3
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {
        FILE,
        "monitor-pcm-pcie.csv",
        "monitor-pcm-iio.csv",
        "monitor-perf-iostat.txt",
    }


@pytest.mark.slow
def test_what_is_not_installed_is_absent_with_its_package(tmp_path):
    lines = conduct(tmp_path / "kept", tmp_path / "empty", "llc", "pause", "iio", interfaces=["lo"], processor=OTHER)
    assert all(isinstance(line, Absent) for line in lines.values())
    assert lines["llc", "perf stat"].reason == "perf is not installed: Debian's package linux-perf has it"
    assert "ethtool has it" in lines["pause", "ethtool -S"].reason
    assert "package pcm has it" in lines["iio", "pcm-iio"].reason and "Intel" in lines["iio", "pcm-iio"].reason


@pytest.mark.slow
def test_a_tool_that_fails_says_why(tmp_path):
    tool(tmp_path / "bin", "pcm", "echo first >&2; echo no access to MSRs >&2; exit 3")
    line = conduct(tmp_path / "kept", tmp_path / "bin", "cores")["cores", "pcm"]
    assert (line.exit_code, line.error) == (3, "no access to MSRs")
    assert "pcm ended with 3: no access to MSRs" in printed(monitor_document(tmp_path / "kept"))


@pytest.mark.slow
def test_a_tool_has_no_more_of_us_than_it_needs(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "of the user")
    tool(tmp_path / "bin", "pcm", "env; cat; ls /proc/self/fd | wc -l")
    conduct(tmp_path / "kept", tmp_path / "bin", "cores")
    text = (tmp_path / "kept/monitor-pcm.csv").read_text()
    assert "LC_ALL=C" in text and "SECRET" not in text
    assert text.splitlines()[-1] == "4", "0, 1, 2 and the directory that ls reads"


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: tools have no other one")
def test_tools_keep_off_the_cpus_of_workers(tmp_path):
    first, *others = sorted(os.sched_getaffinity(0))
    tool(tmp_path / "bin", "pcm", "grep Cpus_allowed_list /proc/self/status")
    conduct(tmp_path / "kept", tmp_path / "bin", "cores", kept_free=[first])
    allowed = (tmp_path / "kept/monitor-pcm.csv").read_text().split()[1]
    assert allowed == ",".join(map(str, others)) or "-" in allowed


@pytest.mark.slow
def test_a_tool_without_an_end_is_stopped_with_what_it_started(tmp_path):
    pids = tmp_path / "pids"
    body = (
        f"trap '' INT; setsid sh -c 'trap \"\" INT; echo $$ >> {pids}; sleep 99' & echo $$ >> {pids}; echo 1; sleep 99"
    )
    tool(tmp_path / "bin", "pcm", body)
    made = monitor(Request(["cores"], [0], seconds=-4), tmp_path / "kept", tmp_path / "bin")
    made.conduct()
    _, line = read_monitor(tmp_path / "kept")
    assert line.exit_code == 128 + signal.SIGKILL and (tmp_path / "kept" / line.file).read_text() == "1\n"
    assert not any(lives(int(pid)) for pid in pids.read_text().split())


@pytest.mark.slow
def test_a_tool_that_is_stopped_may_write_its_end(tmp_path):
    tool(tmp_path / "bin", "pcm", "trap 'echo the end; exit 0' INT; echo 1; while :; do sleep 0.1; done")
    monitor(Request(["cores"], [0], seconds=-3), tmp_path / "kept", tmp_path / "bin").conduct()
    assert (tmp_path / "kept/monitor-pcm.csv").read_text() == "1\nthe end\n"


@pytest.mark.slow
def test_a_tool_cannot_fill_the_disk(tmp_path):
    tool(tmp_path / "bin", "pcm", "exec yes")
    line = conduct(tmp_path / "kept", tmp_path / "bin", "cores")["cores", "pcm"]
    assert line.exit_code == 128 + signal.SIGXFSZ
    assert (tmp_path / "kept" / line.file).stat().st_size == MOST_BYTES


OTHER_PROCESS = """
import sys
from pathlib import Path
from fake_tools import monitor
from windtunnel.measure.monitor.monitor import Request
monitor(Request(["cores"], [0], seconds=60), Path(sys.argv[1]), Path(sys.argv[2])).conduct()
"""


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["monitor", "guard"])
def test_nothing_is_left_of_a_monitor_that_is_killed(tmp_path, victim):
    pids = tmp_path / "pids"
    tool(tmp_path / "bin", "pcm", f"trap '' INT; echo $$ $PPID >> {pids}; exec sleep 99")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [sys.executable, "-c", OTHER_PROCESS, tmp_path / "kept", tmp_path / "bin"]
    with subprocess.Popen(arguments, env=environment) as process:
        until(lambda: pids.exists() and len(pids.read_text().split()) == 2 or process.poll() is not None)
        started, guard = map(int, pids.read_text().split())
        assert lives(started) and lives(guard)
        os.kill(process.pid if victim == "monitor" else guard, signal.SIGKILL)
        until(lambda: not lives(started) and not lives(guard))
        process.kill()


def run_directory(tmp_path, folder, metrics, before_the_end):
    """A run that is monitored, and whose result comes once `before_the_end` holds."""
    plan = sample.plan()
    writer = RunWriter(tmp_path / "run", sample.spec([plan], ["windtunnel"]), {"hostname": "here"})
    watching = RunMonitor(Request(metrics, [0], seconds=60), (folder,))
    listen = watching.into(writer.held)
    for line in sample.engine_lines(plan):
        writer.line("windtunnel", line, line.model_dump_json())
        if line.type == "result":
            until(before_the_end)
        listen("windtunnel", line, "")
    watching.close()
    return writer.finish(Verdict(True))


@pytest.mark.slow
def test_a_run_has_the_texts_in_its_directory_and_shows_them(tmp_path):
    (tmp_path / "bin").mkdir()
    printing(tmp_path / "bin", "perf", PERF)
    order = tmp_path / "bin/order"
    run = run_directory(
        tmp_path, tmp_path / "bin", ["llc", "cpus"], lambda: order.exists() and "ends" in order.read_text()
    )
    asked, *lines = read_monitor(run.path)
    assert asked.metrics == ["llc", "cpus"] and {line.tool for line in lines} == {"perf stat", "/proc/stat"}
    page = printed(run_document(run))
    assert "busy share of CPU 0" in page and "LLC-loads 1,200.00, LLC-load-misses 132.00" in page


@pytest.mark.slow
def test_the_end_of_a_run_stops_a_tool_and_skips_the_next(tmp_path):
    begun = tmp_path / "begun"
    tool(tmp_path / "bin", "perf", f"touch {begun}; exec sleep 99")
    tool(tmp_path / "bin", "pcm-iio", "echo never")
    run = run_directory(tmp_path, tmp_path / "bin", ["llc", "iio"], begun.exists)
    _, perf, *others = read_monitor(run.path)
    assert perf.exit_code == 128 + signal.SIGINT and perf.seconds < 60
    assert len(others) == 2 and all(isinstance(line, Absent) for line in others)


def test_resctrl_is_read_over_all_control_groups(tmp_path):
    for group, value in (("mon_data", 100), ("tenants/mon_data", 20)):
        (tmp_path / group / "mon_L3_00").mkdir(parents=True)
        (tmp_path / group / "mon_L3_00/mbm_total_bytes").write_text(f"{value}\n")
    text = snapshots.memory_traffic(tmp_path).take(1.5)
    assert text == (
        "# snapshot of /sys/fs/resctrl, 1.500 s\n"
        "mon_data/mon_L3_00/mbm_total_bytes 100\ntenants/mon_data/mon_L3_00/mbm_total_bytes 20\n"
    )
    with pytest.raises(snapshots.NotRead, match="resctrl is not mounted"):
        snapshots.memory_traffic(tmp_path / "none").take(0)


def test_a_name_that_leads_out_of_the_directory_is_refused(tmp_path):
    line = Kept(metric="llc", tool="x", file="monitor-x", command=[], begins_s=0, seconds=1, exit_code=0, error="")
    forged = json.loads(line.model_dump_json()) | {"file": "../../etc/passwd"}
    (tmp_path / FILE).write_text(json.dumps(forged) + "\n")
    with pytest.raises(UserError, match=f"{FILE}:1"):
        list(read_monitor(tmp_path))
