"""`windtunnel run` of a shipped scenario, shortened."""

import json
from pathlib import Path

import in_process
from real_runs import SHORT_OF_TWO, assert_sound
from scenario_tools import LENIENT, SHIPPED

from windtunnel.runs import load
from windtunnel.scenario import load as load_scenario

SHORTER = ("duration=90ms", "warmup=30ms", "window=30ms", *LENIENT)


def run_short(file, out, *sets) -> dict:
    """`windtunnel run --json` to its end; what it printed."""
    command = ["run", str(file), "--json", "--out", str(out)]
    for change in (*SHORTER, *sets):
        command += ["--set", change]
    done = in_process.run(*command)
    assert done.exit_code == 0, done.output or done.exception
    return json.loads(done.stdout)


def run_shipped(name: str, out: Path) -> None:
    """Runs a shipped scenario, which is valid and has all that a run leaves."""
    of_two = load_scenario(SHIPPED / f"{name}.toml").wire.kind == "memif"
    longer = [f"duration={SHORT_OF_TWO['duration']}", f"warmup={SHORT_OF_TWO['warmup']}"] if of_two else []
    shown = run_short(SHIPPED / f"{name}.toml", out, *longer)
    assert shown["verdict"] == {"valid": True, "reasons": []}
    assert shown["metrics"]["stages"]
    run = load(out)
    assert_sound(run)
    assert sum(window.phase == "measure" for windows in run.windows.values() for window in windows) >= 3
    for engine in run.record.engines:
        for ledger in engine.result.messages:
            assert ledger.responses > 0
    assert sum(port.rx_packets for windows in run.windows.values() for w in windows for port in w.ports) > 0
    page = (out / "report.html").read_text()
    assert page.rstrip().endswith("</html>") and run.record.title in page
