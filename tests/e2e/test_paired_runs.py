"""Two runs by turns on the same cores: a window each, with no time in between; whoever is left runs on alone."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from scenario_tools import LENIENT, written

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.lines import Hello
from windtunnel.engine.turns import Turns
from windtunnel.engine.windows import Window
from windtunnel.host import facts
from windtunnel.measure.execute import execute
from windtunnel.runs.metrics import measured
from windtunnel.scenario import here, load, resolve

WINDOWS, WINDOW_S = 10, 0.02
ECHO = {"warmup": "20ms", "window": "20ms", "duration": "200ms", "workload": [{"handler": "l_app"}]}


def both(directory, listen, **keys):
    """Runs two of them by turns; `listen` gets each line with its side."""
    file, host = written(directory, ECHO | keys), facts.collect()

    def one(side, place, interrupts):
        spec = resolve(load(file, list(LENIENT)), here())
        heard = [place.line, lambda name, line, text: listen(side, line)]
        with turns.taking(place):
            return execute(spec, directory / side, interrupts, heard, host, place)

    with Interrupts() as interrupts, Turns() as turns, ThreadPoolExecutor(2) as pool:
        running = [
            pool.submit(one, side, place, interrupts) for side, place in (("a", turns.first), ("b", turns.second))
        ]
    return [ended.result() for ended in running]


ONE_CPU = {side: {"cores": [min(os.sched_getaffinity(0))]} for side in ("client", "server")}


@pytest.mark.parametrize("keys", [{}, ONE_CPU], ids=["auto", "one CPU"])
def test_alternating_windows_hold_no_time_of_the_other_run(tmp_path, keys):
    """Whether or not a CPU is free to read windows while the workers run."""
    heard = {"a": [], "b": []}

    def listen(side, line):
        if isinstance(line, Window) and line.phase != "drain":
            heard[side].append(time.monotonic())

    for side, ended in zip("ab", both(tmp_path, listen, **keys), strict=True):
        # as long again was the other's: on the wall the windows took twice the time that they hold
        assert heard[side][-1] - heard[side][0] > 1.5 * WINDOWS * WINDOW_S
        windows = ended.run.windows["windtunnel"]
        assert not any("ledger" in reason for reason in ended.verdict.reasons)
        finished = measured(windows)
        assert len(finished) == WINDOWS
        for before, after in pairwise(windows):
            assert before.end_ns == after.start_ns
        assert sum(w.workloads[0].responses for w in finished) > 0  # a busy host takes the CPUs for a whole window
        assert ended.run.record.engines[0].result.messages[0].lost == 0


def lost_ns(window: Window) -> int:
    """For which some worker had no CPU."""
    return max(worker.preempted_ns or 0 for worker in window.workers)


def test_parked_time_is_not_in_the_latency(tmp_path):
    """On a link of a known delay in an open loop: with the other's windows in it, one message in 25 would be late by 100 ms. The host may make
    messages late too, in windows in which it took a worker's CPU, and in those that follow them."""
    slow = {
        "window": "100ms",
        "duration": "400ms",
        "wire": {"kind": "ring", "link": {"rate": "1Gbps", "delay": "2ms"}},
        "client": {"rate": "20kpps", "inflight": 1024},
    }
    for ended in both(tmp_path, lambda side, line: None, **slow):
        windows = ended.run.windows["windtunnel"]
        assert sum(w.workloads[0].responses for w in measured(windows)) > 0
        calm = [w for before, w in pairwise(windows) if w in measured(windows) and lost_ns(before) + lost_ns(w) < 5e6]
        counts = [(low, n) for w in calm for low, n in w.workloads[0].latency.counts]
        assert min((low for low, _ in counts), default=4e6) > 3.9e6
        late = sum(n for low, n in counts if low > 90e6)
        assert late <= 0.01 * sum(n for _, n in counts)


@pytest.mark.parametrize("victim", ["a", "b"])
def test_the_remaining_run_continues_alone(tmp_path, victim):
    pids, seen = {}, []

    def listen(side, line):
        if isinstance(line, Hello):
            pids[side] = line.pid
        if isinstance(line, Window) and side == victim:
            seen.append(line)
            if len(seen) == 3:
                os.kill(pids[victim], signal.SIGKILL)

    landings = both(tmp_path, listen)
    dead, left = landings if victim == "a" else reversed(landings)
    assert any(reason.startswith("engine died") for reason in dead.verdict.reasons)
    assert not any(reason.startswith("engine") for reason in left.verdict.reasons)
    assert len(measured(left.run.windows["windtunnel"])) == WINDOWS


def test_an_engine_that_dies_when_ready_does_not_end_the_other():
    with Turns() as turns:
        turns.one_is_ready()
        turns.first.close()  # its engine is gone, and nobody has noticed yet
        turns.one_is_ready()
        assert os.read(turns.second.incoming, 1) == b""


def test_an_engine_that_cannot_start_does_not_block_the_other():
    with Turns() as turns:
        with turns.taking(turns.first):
            pass
        assert os.read(turns.second.incoming, 1) == b""
    with pytest.raises(OSError):
        os.fstat(turns.second.incoming)
