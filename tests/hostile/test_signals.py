"""Ctrl-C in every phase, once and twice, SIGTERM, an engine that is stopped: the run ends, its windows stay, nothing is left."""

import os
import random
import re
import signal
import time

import pytest
from fake_runs import gone
from hostile_run import arguments, ended, record, start
from processes import children
from sharing_tools import until

LONG = pytest.mark.long("hostile")
MUTE = '[[workload]]\npacket_handler = "drop"\ntimeout = "1h"\n'
LASTS = ("warmup=30s", "duration=60s")

PHASES = {
    "set-up": ("starting EAL", LASTS, None),
    "warm-up": ("warmup  window", LASTS, None),
    "measurement": ("measure window", ("warmup=0s", "duration=60s"), None),
    "drain": ("measure window   1", ("drain=1h",), MUTE),
}
"""What is said before it begins, the keys that make it last, the scenario."""


def run_in(phase: str, directory, **how):
    """A run that has just entered a phase."""
    words, keys, content = PHASES[phase]
    spec = start(arguments(directory, *keys, **({"content": content} if content else {})), **how)
    for line in spec.stderr:
        if words in line:
            return spec
    raise AssertionError(f"never said {words!r}: {spec.stdout.read()}")


@pytest.mark.parametrize(
    ("phase", "number"),
    [(phase, signal.SIGINT) for phase in PHASES]
    + [("measurement", signal.SIGTERM)]
    + [pytest.param(phase, signal.SIGTERM, marks=LONG) for phase in PHASES if phase != "measurement"],
)
def test_one_signal_ends_the_run_in_order(tmp_path, phase, number):
    spec = run_in(phase, tmp_path)
    spec.send_signal(number)
    code, _ = ended(spec)
    assert code == 130
    found = record(tmp_path / "run")
    assert found["verdict"]["reasons"][0] == "stopped before the end: interrupted by the user"
    assert "engine killed" not in str(found["verdict"])
    assert found["engines"][0]["result"] is not None


@pytest.mark.parametrize("phase", PHASES)
def test_two_signals_end_it_at_once(tmp_path, phase):
    spec = run_in(phase, tmp_path)
    windows = (tmp_path / "run" / "windows.jsonl").read_text()
    spec.send_signal(signal.SIGINT)
    time.sleep(0.05)  # two at once may be one
    spec.send_signal(signal.SIGINT)
    code, _ = ended(spec)
    assert code == 130
    assert record(tmp_path / "run")["verdict"]["valid"] is False
    assert (tmp_path / "run" / "windows.jsonl").read_text().startswith(windows)


def test_a_signal_while_one_side_waits_for_the_link(tmp_path):
    """The client's engine is stopped before it has met the server's."""
    spec = start(arguments(tmp_path, "wire.kind=memif", *LASTS))
    until(lambda: len(engines(spec.pid)) == 2 or spec.poll() is not None)
    pids = {name: pid for pid, name in engines(spec.pid)}
    os.kill(pids["client"], signal.SIGSTOP)
    assert any("waiting for the link" in line for line in spec.stderr)
    spec.send_signal(signal.SIGINT)
    time.sleep(0.2)
    spec.send_signal(signal.SIGINT)
    code, _ = ended(spec)
    assert code == 130
    assert record(tmp_path / "run")["verdict"]["reasons"][0] == "stopped before the end: interrupted by the user"
    assert all(gone(pid) for pid in pids.values())


def engines(supervisor: int) -> list[tuple[int, str]]:
    """Of a supervisor, below their guards, the server's first: they are started in the order of the plans."""
    each = [engine for guard in sorted(children(supervisor)) for engine in children(guard)]
    return list(zip(each, ("server", "client"), strict=False))


@pytest.mark.parametrize("attempts", [3, pytest.param(100, marks=LONG)])
def test_signals_at_any_moment_leave_no_process_or_file(tmp_path, attempts):
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # shown where the test fails
    rng = random.Random(seed)
    for attempt in range(attempts):
        directory = f"run{attempt}"
        spec = start(arguments(tmp_path, *LASTS, out=directory))
        time.sleep(rng.uniform(0.1, 2))
        spec.send_signal(signal.SIGINT)
        out, err = spec.communicate(timeout=60)
        # a traceback of Python's own start, while our modules are still being imported, is not ours
        assert not re.search(r"windtunnel/.*, in (?!<module>)", err), out + err
        assert spec.returncode in (130, -signal.SIGINT)
        if (tmp_path / directory / "run.json").exists():
            assert record(tmp_path / directory)["verdict"]["valid"] is False


def test_an_engine_that_is_stopped_is_killed(tmp_path):
    spec = run_in("measurement", tmp_path)
    [(pid, _)] = engines(spec.pid)
    os.kill(pid, signal.SIGSTOP)
    code, _ = ended(spec)
    assert code == 1 and gone(pid)
    [reason] = record(tmp_path / "run")["verdict"]["reasons"]
    assert reason.startswith("engine killed: no line for") and " while running" in reason
    (log,) = (tmp_path / "run").glob("*.log")
    said = log.read_text()
    assert "windtunnel: killed: no line for" in said and f"thread {pid} windtunnel-engi: state T in " in said


def test_a_signal_that_the_caller_ignores_is_ignored(tmp_path):
    """As nohup and a script's background jobs have it."""
    spec = start(arguments(tmp_path), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    for line in spec.stderr:
        if "measure" in line:
            break
    spec.send_signal(signal.SIGINT)
    code, _ = ended(spec)
    assert code == 0 and record(tmp_path / "run")["verdict"]["valid"]
