"""The command line as a user types it, with a fake engine behind it."""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import forked
import pytest
from command_line import SCENARIO, command, environment, in_process, on_terminal, windtunnel
from fake_runs import FAKE

from windtunnel import __version__

HEAVY = ("pydantic", "numpy", "jinja2", "hdrh", "tree_sitter", "windtunnel.engine.lines", "windtunnel.runs")
RELAXED = ("--set", "validity.max_drift=1", "--no-report")


def only_run(directory: Path) -> Path:
    """The run directory below `runs`, of which there must be one."""
    (found,) = (directory / "runs").iterdir()
    return found


def test_run_shows_tables_and_leaves_a_run_directory(typed, scenario, tmp_path):
    done = typed("run", scenario)
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


def test_json_is_alone_on_stdout(typed, scenario, tmp_path):
    done = typed("run", scenario, "--json", "--no-report", "--out", "here")
    document = json.loads(done.stdout)
    assert document["verdict"]["valid"] is True
    assert document["path"] == "here"
    assert document["metrics"]["workloads"][0]["responses"] == 3000
    assert not (tmp_path / "here" / "report.html").exists()


def test_a_run_says_where_it_stands_among_those_beside_it(typed, scenario, tmp_path):
    longer = ("--set", "duration=200ms")
    for n in range(2):
        first = typed("run", scenario, *longer, "--no-report", "--out", f"runs/{n}")
        assert ("earlier: " in first.stdout) == (n > 0)
    done = typed("run", scenario, *longer, "--out", "runs/2")
    assert "earlier: 2 runs here, the response rate 50.0 k/s and 50.0 k/s; this one: 50.0 k/s" in done.stdout
    assert "earlier: 2 runs here" in (tmp_path / "runs" / "2" / "report.html").read_text()
    assert "earlier: 1 run here" in typed("show", "runs/1").stdout
    assert "earlier" not in typed("show", "runs/0", "runs/1").stdout
    shown = json.loads(typed("show", "runs/2", "--json").stdout)
    assert [document["earlier"]["values"] for document in shown] == [[50000.0, 50000.0]]
    several = json.loads(typed("show", "runs/1", "runs/2", "--json").stdout)
    assert [document["earlier"] for document in several] == [None, None]
    quiet = typed("run", scenario, *longer, "-q", "--no-report", "--out", "runs/3")
    assert quiet.stdout == "valid\nruns/3\n"
    asked = typed("run", scenario, *longer, "--json", "--no-report", "--out", "runs/4")
    assert json.loads(asked.stdout)["earlier"]["place"] == 1
    repeated = typed("run", scenario, *longer, "--repeat", "2", "--out", "runs/5")
    assert repeated.returncode == 0 and "earlier" not in repeated.stdout


def test_an_invalid_run_shows_its_metrics_as_rejected(typed, scenario, tmp_path):
    done = typed("run", scenario, "--no-report", "--out", "here", behaviour="lose_mbufs")
    assert done.returncode == 1
    assert "ledger open: 3 mbufs missing" in done.stdout
    latency = [line for line in done.stdout.splitlines() if "p99.9" in line]
    assert latency and all(line.startswith("rejected") for line in latency)
    record = json.loads((tmp_path / "here" / "run.json").read_text())
    assert record["verdict"]["valid"] is False and record["rejected"] is True
    assert typed("show", "here").stdout == done.stdout.partition("run here")[0]
    document = json.loads(typed("show", "--json", "here").stdout)[0]
    assert document["rejected"] is True and document["metrics"]["workloads"][0]["responses"] > 0
    assert typed("export", "here", "tables").returncode == 2
    exported = typed("export", "here", "tables", "--include-invalid")
    assert exported.returncode == 0 and "1 invalid run included: ledger open" in exported.stderr


@pytest.mark.slow
def test_invalid_run_has_no_metrics_in_json(scenario, tmp_path):
    done = in_process("run", scenario, "--json", "--no-report", cwd=tmp_path, behaviour="crash")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert document["metrics"] is None
    assert document["verdict"]["reasons"] == ["engine died: SIGSEGV while opening ./libmine.so"]


def test_refusal_of_the_engine_is_exit_code_2(typed, scenario):
    done = typed("run", scenario, "-q", "--no-report", "--out", "here", behaviour="refuse")
    assert done.returncode == 2
    assert "engine refused: no interface wt0 (ip link add wt0 type veth)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "changes", "refusal"),
    [
        (["echo.toml", "--set", "server.batch.app_rx=0"], {}, "--set server.batch.app_rx=0: "),
        (["echo.toml", "--set", "server.bach.app_rx=64"], {}, "--set server.bach.app_rx=64: "),
        (["echo.toml", "--set", "nonsense"], {}, "--set nonsense: "),
        (["echo.toml", "--set", "duration='1 parsec'"], {}, "--set duration='1 parsec': "),
        (["echo.toml", "--out", "taken"], {}, "taken: exists already\nremedy: choose a new directory with --out\n"),
        (["echo.toml", "--json", "--quiet"], {}, "--json and --quiet exclude each other"),
        (["echo.toml"], {"WINDTUNNEL_ENGINE": "/nowhere"}, "WINDTUNNEL_ENGINE=/nowhere: no such file\n"),
        (["no.toml"], {}, "no.toml: no such file or directory\n"),
    ],
)
def test_what_is_refused_leaves_no_file(typed, scenario, tmp_path, arguments, changes, refusal):
    (tmp_path / "taken").mkdir()
    before = sorted(tmp_path.rglob("*"))
    done = typed("run", *arguments, **changes)
    assert done.returncode == 2 and done.stderr.startswith(f"error: {refusal}")
    assert sorted(tmp_path.rglob("*")) == before


def test_set_changes_the_plan(typed, scenario, tmp_path):
    typed("run", scenario, "--set", "server.batch.app_rx=64", "--no-report", "--out", "here")
    engines = json.loads((tmp_path / "here" / "run.json").read_text())["engines"]
    batches = {endpoint["side"]: endpoint["batch"]["app_rx"] for endpoint in engines[0]["plan"]["endpoints"]}
    assert batches["server"] == 64 != batches["client"]


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", ["until_stopped", "stubborn"])
def test_an_interrupted_run_keeps_and_shows_its_windows(scenario, tmp_path, behaviour):
    """A run that lands takes one Ctrl-C, one that does not takes two."""
    scenario.write_text(SCENARIO.format(duration="60s"))
    arguments = ["run", scenario, "--no-report", "--out", "here"]
    with forked.Command(
        arguments, cwd=tmp_path, env=environment(behaviour), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr:
            if "window   3" in line:
                process.send_signal(signal.SIGINT)
            if behaviour == "stubborn" and "window   9" in line:
                process.send_signal(signal.SIGINT)
                break
        shown, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in errors
    record = json.loads((tmp_path / "here" / "run.json").read_text())
    assert record["verdict"]["reasons"] == ["stopped before the end: interrupted by the user"]
    windows = [json.loads(line) for line in (tmp_path / "here" / "windows.jsonl").read_text().splitlines()]
    assert [window["index"] for window in windows] == list(range(len(windows)))
    if behaviour == "until_stopped":
        assert "stopped before the end: interrupted by the user" in shown and "metrics rejected" in shown
        assert "no check of these windows failed" in shown
        latency = [line for line in shown.splitlines() if "p99.9" in line]
        assert latency and all(line.startswith("rejected") for line in latency)
        assert record["rejected"] is True
        assert "steady" in {check["name"] for check in record["validity"]["checks"]}


@pytest.mark.slow
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


@pytest.mark.slow
def test_live_table_on_a_terminal(scenario, tmp_path):
    scenario.write_text(SCENARIO.format(duration="2s"))  # the table is drawn a few times a second
    status, screen = on_terminal(command("run", scenario, *RELAXED, "--out", "here"), tmp_path)
    assert status == 0
    assert "Ctrl-C stops it" in screen and "measure" in screen
    assert "ledger: closed" in screen
    assert "measure window" not in screen
    assert screen.count("max_drift 100% instead of 10%") > 1  # while it runs, and after it


def test_a_run_with_relaxed_limits_says_so(typed, scenario):
    done = typed("run", scenario, *RELAXED, "-q", "--out", "one")
    assert done.stdout == "valid, limits relaxed: max_drift 100% instead of 10%\none\n"
    done = typed("run", scenario, *RELAXED, "--out", "two")
    assert "verdict: valid, limits relaxed (max_drift 100% instead of 10%)" in done.stdout


def test_handlers(typed):
    done = typed("handlers")
    assert done.returncode == 0
    for word in ("m_app", "message", "state (bytes, default 4MiB)", "pattern (random | sequential", "l2fwd", "packet"):
        assert word in done.stdout
    listed = json.loads(typed("handlers", "--json").stdout)
    assert [handler["name"] for handler in listed] == ["m_app", "l_app", "l2fwd", "match_action"]


def test_handlers_of_an_invalid_plugin(typed, tmp_path):
    done = typed("handlers", "--plugin", "libmine.so")
    assert done.returncode == 2 and done.stderr.startswith("error: libmine.so: no such file\nremedy: ")
    (tmp_path / "libmine.so").touch()
    done = typed("handlers", "--plugin", "libmine.so")
    assert done.returncode == 2
    assert done.stderr == (
        f"error: handler {tmp_path}/libmine.so cannot be loaded: file too short\nremedy: build it again\n"
    )


def test_the_handler_of_a_plugin_is_named_as_toml_has_it(typed, tmp_path):
    plugin = tmp_path / 'my "own".so'
    plugin.write_text("whole")
    [line] = re.findall("in a scenario:  (.*)", typed("handlers", "--plugin", plugin.name).stdout)
    assert tomllib.loads(line.replace("  options", "\noptions")) == {
        "handler": str(plugin),
        "options": {"state": "4MiB"},
    }


def test_version(typed):
    lines = typed("--version").stdout.splitlines()
    assert lines == [
        f"windtunnel {__version__}",
        f"windtunnel-engine 0.1.0, DPDK 22.11.0, build b1b1b1b1b1b1 at {FAKE}",
    ]
    lines = typed("--version", WINDTUNNEL_ENGINE="/nowhere").stdout.splitlines()
    assert lines[1].startswith("engine: WINDTUNNEL_ENGINE=/nowhere: no such file (")


@pytest.mark.slow
def test_no_garbage_is_looked_for_among_what_was_imported_before_the_end(tmp_path):
    """What is registered first is called last."""
    program = "import atexit, gc; atexit.register(lambda: print(len(gc.get_objects()), gc.get_freeze_count()))\n"
    program += "from windtunnel.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "--help"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    left, frozen = map(int, done.stdout.splitlines()[-1].split())
    assert frozen > 100 * left


@pytest.mark.slow
def test_help_imports_nothing_heavy(tmp_path):
    program = "from windtunnel.cli import main\ntry: main()\nexcept SystemExit: pass\nimport sys; print(*sys.modules)"
    arguments = [sys.executable, "-c", program, "--help"]
    done = subprocess.run(arguments, cwd=tmp_path, env=environment("run"), capture_output=True, text=True, check=True)
    imported = done.stdout.splitlines()[-1].split()
    assert "windtunnel.cli.run" in imported
    assert [module for module in imported if module.startswith(HEAVY)] == []
