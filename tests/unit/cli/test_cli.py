"""The command line as a user types it, with a fake engine behind it."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SCENARIO, command, environment, on_terminal, windtunnel
from fake_runs import FAKE

from windtunnel import __version__

pytestmark = pytest.mark.slow

HEAVY = ("pydantic", "numpy", "jinja2", "hdrh", "tree_sitter", "windtunnel.engine.lines", "windtunnel.runs")


def only_run(directory: Path) -> Path:
    """The run directory below `runs`, of which there must be one."""
    (found,) = (directory / "runs").iterdir()
    return found


def test_run_shows_tables_and_leaves_a_run_directory(scenario, tmp_path):
    done = windtunnel("run", scenario, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    directory = only_run(tmp_path)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-echo", directory.name)
    for word in ("L-App echo", "What does one small RPC cost", "app_tx", "p99.9", "ledger: closed", "valid"):
        assert word in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr.count("measure window") == 3 and "measure window" not in done.stdout
    assert str(directory.relative_to(tmp_path)) in done.stdout
    record = json.loads((directory / "run.json").read_text())
    assert record["verdict"] == {"valid": True, "reasons": []}
    assert (directory / "report.html").is_file()


def test_json_is_alone_on_stdout(scenario, tmp_path):
    done = windtunnel("run", scenario, "--json", "--no-report", "--out", "here", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert document["verdict"]["valid"] is True
    assert document["path"] == "here"
    assert document["metrics"]["workloads"][0]["responses"] == 3000
    assert not (tmp_path / "here" / "report.html").exists()


def test_a_run_says_where_it_stands_among_those_beside_it(scenario, tmp_path):
    longer = ("--set", "duration=200ms")
    for n in range(2):
        first = windtunnel("run", scenario, *longer, "--no-report", "--out", f"runs/{n}", cwd=tmp_path)
        assert ("earlier: " in first.stdout) == (n > 0)
    done = windtunnel("run", scenario, *longer, "--out", "runs/2", cwd=tmp_path)
    assert "earlier: 2 runs here, the response rate 50.0 k/s and 50.0 k/s; this one: 50.0 k/s" in done.stdout
    assert "Earlier: 2 runs here" in (tmp_path / "runs" / "2" / "report.html").read_text()
    assert "earlier: 1 run here" in windtunnel("show", "runs/1", cwd=tmp_path).stdout
    assert "earlier" not in windtunnel("show", "runs/0", "runs/1", cwd=tmp_path).stdout
    shown = json.loads(windtunnel("show", "runs/2", "--json", cwd=tmp_path).stdout)
    assert [document["earlier"]["values"] for document in shown] == [[50000.0, 50000.0]]
    several = json.loads(windtunnel("show", "runs/1", "runs/2", "--json", cwd=tmp_path).stdout)
    assert [document["earlier"] for document in several] == [None, None]
    quiet = windtunnel("run", scenario, *longer, "-q", "--no-report", "--out", "runs/3", cwd=tmp_path)
    assert quiet.stdout == "valid\nruns/3\n"
    asked = windtunnel("run", scenario, *longer, "--json", "--no-report", "--out", "runs/4", cwd=tmp_path)
    assert json.loads(asked.stdout)["earlier"]["place"] == 1
    repeated = windtunnel("run", scenario, *longer, "--repeat", "2", "--out", "runs/5", cwd=tmp_path)
    assert repeated.returncode == 0 and "earlier" not in repeated.stdout


def test_quiet_prints_verdict_and_directory(scenario, tmp_path):
    done = windtunnel("run", scenario, "-q", "--no-report", "--out", "here", cwd=tmp_path)
    assert done.stdout == "valid\nhere\n"


def test_an_invalid_run_shows_its_metrics_as_rejected(scenario, tmp_path):
    done = windtunnel("run", scenario, "--no-report", "--out", "here", cwd=tmp_path, behaviour="lose_mbufs")
    assert done.returncode == 1
    assert "ledger open: 3 mbufs missing" in done.stdout
    latency = [line for line in done.stdout.splitlines() if "p99.9" in line]
    assert latency and all(line.startswith("rejected") for line in latency)
    record = json.loads((tmp_path / "here" / "run.json").read_text())
    assert record["verdict"]["valid"] is False and record["rejected"] is True
    assert windtunnel("show", "here", cwd=tmp_path).stdout == done.stdout.partition("run    here")[0]
    document = json.loads(windtunnel("show", "--json", "here", cwd=tmp_path).stdout)[0]
    assert document["rejected"] is True and document["metrics"]["workloads"][0]["responses"] > 0
    assert windtunnel("export", "here", "tables", cwd=tmp_path).returncode == 2
    exported = windtunnel("export", "here", "tables", "--include-invalid", cwd=tmp_path)
    assert exported.returncode == 0 and "1 invalid run included: ledger open" in exported.stderr


def test_invalid_run_has_no_metrics_in_json(scenario, tmp_path):
    done = windtunnel("run", scenario, "--json", "--no-report", "--out", "here", cwd=tmp_path, behaviour="crash")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert document["metrics"] is None
    assert document["verdict"]["reasons"] == ["engine died: SIGSEGV while opening ./libmine.so"]


def test_refusal_of_the_engine_is_exit_code_2(scenario, tmp_path):
    done = windtunnel("run", scenario, "-q", "--no-report", "--out", "here", cwd=tmp_path, behaviour="refuse")
    assert done.returncode == 2
    assert "engine refused: no interface wt0 (ip link add wt0 type veth)" in done.stdout


def test_existing_directory_is_not_changed(scenario, tmp_path):
    (tmp_path / "here").mkdir()
    done = windtunnel("run", scenario, "--out", "here", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "error: here: exists already\nremedy: choose a new directory with --out\n"
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize(
    "change", ["server.batch.app_rx=0", "server.bach.app_rx=64", "nonsense", "duration='1 parsec'"]
)
def test_bad_set_is_refused_before_any_file_is_written(scenario, tmp_path, change):
    done = windtunnel("run", scenario, "--set", change, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and "--set" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_set_changes_the_plan(scenario, tmp_path):
    windtunnel("run", scenario, "--set", "server.batch.app_rx=64", "--no-report", "--out", "here", cwd=tmp_path)
    engines = json.loads((tmp_path / "here" / "run.json").read_text())["engines"]
    batches = {endpoint["side"]: endpoint["batch"]["app_rx"] for endpoint in engines[0]["plan"]["endpoints"]}
    assert batches["server"] == 64 != batches["client"]


def test_missing_scenario_and_missing_engine(scenario, tmp_path):
    done = windtunnel("run", "no.toml", cwd=tmp_path)
    assert (done.returncode, done.stderr.split("\n")[0]) == (2, "error: no.toml: no such file or directory")
    done = windtunnel("run", scenario, cwd=tmp_path, WINDTUNNEL_ENGINE="/nowhere")
    assert (done.returncode, done.stderr.split("\n")[0]) == (2, "error: WINDTUNNEL_ENGINE=/nowhere: no such file")
    assert not (tmp_path / "runs").exists()


def test_json_and_quiet_exclude_each_other(scenario, tmp_path):
    assert windtunnel("run", scenario, "--json", "--quiet", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("behaviour", ["until_stopped", "stubborn"])
def test_interrupts_end_the_run_and_keep_its_windows(scenario, tmp_path, behaviour):
    """A run that lands takes one Ctrl-C, one that does not takes two."""
    scenario.write_text(SCENARIO.format(duration="60s"))
    arguments = command("run", scenario, "--no-report", "--out", "here")
    with subprocess.Popen(
        arguments, cwd=tmp_path, env=environment(behaviour), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as spec:
        for line in spec.stderr:
            if "window   1" in line:
                spec.send_signal(signal.SIGINT)
            if behaviour == "stubborn" and "window   9" in line:
                spec.send_signal(signal.SIGINT)
                break
        _, errors = spec.communicate(timeout=60)
    assert spec.returncode == 130 and "Traceback" not in errors
    record = json.loads((tmp_path / "here" / "run.json").read_text())
    assert record["verdict"]["reasons"] == ["stopped before the end: interrupted by the user"]
    windows = [json.loads(line) for line in (tmp_path / "here" / "windows.jsonl").read_text().splitlines()]
    assert [window["index"] for window in windows] == list(range(len(windows)))


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts a tmpfs of 200 KiB to fill it")
def test_full_disk_ends_the_run_with_a_message(scenario, tmp_path):
    scenario.write_text(SCENARIO.format(duration="60s"))
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "none", small]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount here")
    try:
        done = windtunnel("run", scenario, "--out", small / "here", cwd=tmp_path, behaviour="until_stopped")
        record = json.loads((small / "here" / "run.json").read_text())
        lines = (small / "here" / "windows.jsonl").read_text()
    finally:
        subprocess.run(["umount", small], check=True)
    assert done.returncode == 1
    assert "No space left on device" in done.stdout + done.stderr
    assert record["verdict"]["valid"] is False
    assert lines.endswith("}\n")


def test_live_table_on_a_terminal(scenario, tmp_path):
    scenario.write_text(SCENARIO.format(duration="1s"))
    status, screen = on_terminal(command("run", scenario, "--no-report", "--out", "here"), tmp_path)
    assert status == 0
    assert "Ctrl-C stops it" in screen and "measure" in screen
    assert "ledger: closed" in screen
    assert "measure window" not in screen


def test_handlers(tmp_path):
    done = windtunnel("handlers", cwd=tmp_path)
    assert done.returncode == 0
    for word in ("m_app", "message", "state (bytes, default 4MiB)", "pattern (random | sequential", "l2fwd", "packet"):
        assert word in done.stdout
    listed = json.loads(windtunnel("handlers", "--json", cwd=tmp_path).stdout)
    assert [handler["name"] for handler in listed] == ["m_app", "l_app", "l2fwd", "match_action"]


def test_handlers_of_an_invalid_plugin(tmp_path):
    done = windtunnel("handlers", "--plugin", "libmine.so", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("error: libmine.so: no such file\nremedy: ")
    (tmp_path / "libmine.so").touch()
    done = windtunnel("handlers", "--plugin", "libmine.so", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        f"error: handler {tmp_path}/libmine.so cannot be loaded: file too short\nremedy: build it again\n"
    )


def test_version(tmp_path):
    lines = windtunnel("--version", cwd=tmp_path).stdout.splitlines()
    assert lines == [
        f"windtunnel {__version__}",
        f"windtunnel-engine 0.1.0, DPDK 22.11.0, build b1b1b1b1b1b1 at {FAKE}",
    ]
    lines = windtunnel("--version", cwd=tmp_path, WINDTUNNEL_ENGINE="/nowhere").stdout.splitlines()
    assert lines[1].startswith("engine: WINDTUNNEL_ENGINE=/nowhere: no such file (")


@pytest.mark.parametrize("name", ["run", "check", "show", "compare", "export", "handlers", "doctor"])
def test_every_command_has_help_with_its_examples_on_their_lines(tmp_path, name):
    help_ = windtunnel(name, "--help", cwd=tmp_path)
    assert help_.returncode == 0
    examples = [line for line in help_.stdout.splitlines() if line.strip().startswith(f"windtunnel {name}")]
    assert examples or name == "doctor"
    assert name in windtunnel("--help", cwd=tmp_path).stdout


def test_help_imports_nothing_heavy(tmp_path):
    program = "from windtunnel.cli import main\ntry: main()\nexcept SystemExit: pass\nimport sys; print(*sys.modules)"
    arguments = [sys.executable, "-c", program, "--help"]
    done = subprocess.run(arguments, cwd=tmp_path, env=environment("run"), capture_output=True, text=True, check=True)
    imported = done.stdout.splitlines()[-1].split()
    assert "windtunnel.cli.run" in imported
    assert [module for module in imported if module.startswith(HEAVY)] == []


def test_an_interrupted_run_shows_its_windows_and_their_checks(scenario, tmp_path):
    scenario.write_text(SCENARIO.format(duration="60s"))
    arguments = command("run", scenario, "--no-report", "--out", "here")
    with subprocess.Popen(
        arguments,
        cwd=tmp_path,
        env=environment("until_stopped"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as spec:
        for line in spec.stderr:
            if "window   3" in line:
                spec.send_signal(signal.SIGINT)
                break
        shown, _ = spec.communicate(timeout=60)
    assert spec.returncode == 130
    assert "stopped before the end: interrupted by the user" in shown and "metrics rejected" in shown
    assert "no check of these windows failed" in shown
    latency = [line for line in shown.splitlines() if "p99.9" in line]
    assert latency and all(line.startswith("rejected") for line in latency)
    record = json.loads((tmp_path / "here" / "run.json").read_text())
    assert record["rejected"] is True
    assert "steady" in {check["name"] for check in record["validity"]["checks"]}


def test_a_run_with_relaxed_limits_says_so_on_every_way(scenario, tmp_path):
    relaxed = ("--set", "validity.max_drift=1", "--no-report")
    done = windtunnel("run", scenario, *relaxed, "-q", "--out", "one", cwd=tmp_path)
    assert done.stdout == "valid, limits relaxed: max_drift 100% instead of 10%\none\n"
    done = windtunnel("run", scenario, *relaxed, "--out", "two", cwd=tmp_path)
    assert "verdict: valid, limits relaxed (max_drift 100% instead of 10%)" in done.stdout
    _, shown = on_terminal(command("run", scenario, *relaxed, "--out", "three"), tmp_path)
    assert shown.count("max_drift 100% instead of 10%") > 1  # the live view has it too
