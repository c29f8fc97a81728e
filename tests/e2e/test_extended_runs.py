"""A measurement that goes on beyond its duration, on the real engine."""

from real_runs import run_well, scenario

WINDOWS = 20
KEYS = {"duration": f"{WINDOWS * 100}ms", "warmup": "100ms", "window": "100ms"}


class Once:
    """Extends the measurement after its second window: long before the engine's end, also where this process waits for a CPU."""

    most_ns = 10**10

    def __init__(self, windows: int):
        self.windows, self.seen = windows, 0

    def more(self, name: str) -> int:
        self.seen += 1
        return self.windows if self.seen == 2 else 0


def measured(run):
    return [window for window in run.windows["windtunnel"] if window.phase == "measure"]


def test_the_engine_measures_so_many_windows_more(tmp_path):
    run = run_well(tmp_path, scenario(**KEYS), extending=Once(4))
    assert len(measured(run)) == WINDOWS + 4
    assert run.record.engines[0].result.reason == "duration"
    assert [window.index for window in measured(run)] == list(range(1, WINDOWS + 5))


def test_an_extension_after_the_end_has_no_effect(tmp_path):
    class Late(Once):
        def more(self, name: str) -> int:
            self.seen += 1
            return 3 if self.seen == WINDOWS else 0

    assert len(measured(run_well(tmp_path, scenario(**KEYS), extending=Late(3)))) == WINDOWS
