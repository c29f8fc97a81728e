"""Where no CPU is free for the supervisor, the run's time stands still while it reads a window. On the real engine."""

import time

from real_runs import run_well, scenario

WINDOWS, SLOW_S = 4, 0.04
KEYS = {"duration": "200ms", "warmup": "50ms", "window": "50ms"}


class Slow:
    """A supervisor that takes its time over each window, and notes when each came."""

    most_ns = 10**9

    def __init__(self):
        self.came = []

    def more(self, name: str) -> int:
        self.came.append(time.monotonic())
        time.sleep(SLOW_S)
        return 0


def held(spec):
    (plan,) = spec.plans
    return [plan.model_copy(update={"phases": plan.phases.model_copy(update={"hold_windows": True})})]


def test_no_window_contains_the_time_in_which_it_was_read(tmp_path):
    slow = Slow()
    run = run_well(tmp_path, scenario(**KEYS), change=held, extending=slow)
    _, *later = [window for window in run.windows["windtunnel"] if window.phase == "measure"]
    measured_s = sum(window.end_ns - window.start_ns for window in later) / 1e9
    assert len(later) == WINDOWS - 1
    assert slow.came[-1] - slow.came[0] >= measured_s + len(later) * SLOW_S


def test_a_supervisor_that_does_not_say_that_it_has_read_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr("windtunnel.engine.process.EngineProcess.tell_window_read", lambda self: None)
    run = run_well(tmp_path, scenario(**KEYS), change=held)
    assert run.record.engines[0].result.reason == "duration"
