"""An observation of another program that somebody sent: no command ends with a fault, is kept waiting, or takes the memory, whatever its lines
say."""

import json
from pathlib import Path

import pytest
from command_line import in_process
from part_samples import part_samples

from windtunnel.parts.attach import delay_lines, observed_windows
from windtunnel.parts.attach.lines import WindowLine
from windtunnel.parts.attach.observed_run import ObservedRunWriter
from windtunnel.parts.attach.observed_windows import windows_of
from windtunnel.parts.attach.processes import Application

HUGE = 10**40
"""Larger than a float holds when it is multiplied with itself often enough, and than any counter of 64 bits."""
PROGRAM = Application(pid=77, command=("broker",), release="22.11", prefix=None, runtime=None)
PHASE = {"phases": 1, "ticks": 1000, "rx_packets": 10, "tx_packets": 10}
PORT = {"port": 0, "ticks": 2000, "present": PHASE, "absent": PHASE}
PORT |= dict.fromkeys(("ipackets", "opackets", "ibytes", "obytes", "imissed", "ierrors", "oerrors", "rx_nombuf"), 10)
READS = ["show sent", *(f"{command} sent" for command in part_samples("READING_COMMAND")), "history sent"]


def channel(**fields) -> dict:
    counters = ("refused", "interrupted_turns", "interrupted_ticks", "sized_packets", "sized_bytes", "delays_lost")
    return {
        "thread": 5,
        "lcore": 1,
        "port": 0,
        "queue": 0,
        "receives": True,
        "asked": 32,
        "calls": 4,
        "packets": 128,
        "bursts": {"32": 4},
        "delays": {},
        "delayed_ticks": 0,
        **dict.fromkeys(counters, 0),
        "timed": [{"packets": 32, "turns": 4, "rx_ticks": 40, "application_ticks": 400, "tx_ticks": 40}],
        **fields,
    }


def window(index: int, **fields) -> dict:
    return {
        "index": index,
        "start_ns": index * 10**8,
        "end_ns": (index + 1) * 10**8,
        "present_ticks": 10_000,
        "channels": [channel()],
        "ports": [PORT],
        "excluded": None,
        "threads": [{"thread": 5, "cpu": 1, "on_cpu_ns": 10**8, "preempted_ns": 0}],
        **fields,
    }


def sent(directory: Path, windows: list[dict], delays: list[dict] = ()) -> Path:
    """An observation with these lines, which nobody has written."""
    writer = ObservedRunWriter(directory / "sent", PROGRAM, "22.11")
    for index in range(8):
        writer.append(WindowLine.model_validate(window(index)))
    run = writer.finish([], 2e9).path
    (run / observed_windows.FILE).write_text("".join(json.dumps(line) + "\n" for line in windows))
    if delays:
        (run / delay_lines.FILE).write_text("".join(json.dumps(line) + "\n" for line in delays))
    return run


def read(directory: Path) -> list:
    """What each command that reads says; none may end with a traceback."""
    done = [in_process(*words.split(), cwd=directory) for words in READS]
    assert all(one.returncode in (0, 1, 2, 3) and "Traceback" not in one.stderr for one in done), done
    return done


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({"present_ticks": HUGE}, "present_ticks"),
        ({"end_ns": 0, "start_ns": 0}, "not after start_ns"),
        ({"channels": [channel(asked=HUGE)]}, "asked"),
        ({"channels": [channel(port=64)]}, "port"),
        ({"channels": [channel(bursts={"66": 1})]}, "bursts"),
        ({"channels": [channel(delays={str(16 * 10**9): 1})]}, "delays"),
        ({"channels": [channel(thread=n) for n in range(1, 514)]}, "channels"),
        ({"channels": [channel(timed=[{**channel()["timed"][0], "turns": HUGE}])]}, "turns"),
        ({"ports": [{**PORT, "imissed": HUGE}]}, "imissed"),
        ({"ports": [{**PORT, "present": {**PHASE, "ticks": HUGE}}]}, "present.ticks"),
        ({"excluded": "x" * 1001}, "excluded"),
    ],
)
def test_what_no_window_has_is_refused_in_words(tmp_path, fields, refusal):
    sent(tmp_path, [window(index, **fields) for index in range(8)])
    shown = read(tmp_path)[0]
    assert shown.returncode == 2 and f"{observed_windows.FILE}:1: " in shown.stderr and refusal in shown.stderr, shown


@pytest.mark.parametrize(
    "fields",
    [
        {"present_ticks": 0},
        {"present_ticks": 2**64 - 1, "channels": [channel(calls=2**64 - 1, packets=2**64 - 1, bursts={"65": 2**64 - 1})]},
        {"channels": [channel(asked=0, packets=0, bursts={"0": 1})]},
        {"channels": [channel(timed=[dict.fromkeys(("turns", "rx_ticks", "application_ticks", "tx_ticks", "packets"), 0)])]},
        {"channels": [channel(timed=[{"packets": n, "turns": 2**63, "rx_ticks": 2**63, "application_ticks": 2**63, "tx_ticks": 0} for n in range(66)])]},
        {"channels": [channel(delays={"399": 2**64 - 1})]},
        {"channels": [], "ports": [], "threads": []},
        {"ports": [{**PORT, "imissed": 2**64 - 1, "ipackets": 0, "present": dict.fromkeys(PHASE, 0), "absent": dict.fromkeys(PHASE, 0)}]},
        {"excluded": "\x1b]0;a\x07</script>"},
    ],
)  # fmt: skip
def test_what_a_window_may_have_is_shown(tmp_path, fields):
    sent(tmp_path, [window(index, **fields) for index in range(8)])
    read(tmp_path)


def test_a_stage_whose_calls_are_none_is_shown(tmp_path):
    """Its record names a size of bursts that no call had."""
    run = sent(tmp_path, [window(index) for index in range(8)])
    record = json.loads((run / "run.json").read_text())
    record["observed"]["stages"][0]["burst"] = {"32": 0}
    (run / "run.json").write_text(json.dumps(record))
    assert read(tmp_path)[0].returncode == 0


def test_threads_that_change_from_window_to_window_keep_nobody_waiting(tmp_path, monkeypatch):
    """Each thread is looked at in each window."""
    monkeypatch.setattr(observed_windows, "MOST_THREAD_WINDOWS", 63)
    run = sent(tmp_path, [window(index, channels=[channel(thread=index + 1)]) for index in range(8)])
    with pytest.raises(Exception, match="8 windows of 8 threads"):
        windows_of(run)


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({"delay_ns": 0.0}, ""),
        ({"packets": 0}, ""),
        ({"kind": "headroom", "packets": 0, "calls": 0, "asked": 0, "idle": 0.0}, ""),
        ({"kind": "headroom", "packets": 2**64 - 1, "calls": 1, "asked": 0, "idle": 0.0}, ""),
        ({"delay_ns": 1e300}, "delay_ns"),
        ({"seconds": 1e-300}, "seconds"),
        ({"seconds": float("inf")}, "seconds"),
        ({"seconds": float("nan")}, "seconds"),
        ({"packets": HUGE}, "packets"),
        ({"round": 40}, "round"),
        ({"idle": 2.0}, "idle"),
    ],
)
def test_experiments_that_nobody_made(tmp_path, fields, refusal):
    step = {"kind": "causal", "thread": 5, "delay_ns": 10.0, "seconds": 0.05, "packets": 1000, "missed": 0}
    steps = [{**step, "round": n, "thread": thread, **fields} for n in range(8) for thread in (0, 5)]
    steps = [{**line, "round": fields.get("round", line["round"])} for line in steps]
    sent(tmp_path, [window(index) for index in range(8)], steps)
    shown = read(tmp_path)[0]
    assert shown.returncode == (2 if refusal else 0) and refusal in shown.stderr, shown


def test_experiments_without_an_end_are_refused(tmp_path):
    run = sent(tmp_path, [window(index) for index in range(8)])
    (run / delay_lines.FILE).write_bytes(b"\n" * (delay_lines.MOST_BYTES + 1))
    shown = read(tmp_path)[0]
    assert shown.returncode == 2 and f"{delay_lines.FILE}: larger than 4MiB" in shown.stderr, shown
