"""Rates that the cores do not carry: no percentile, no comparison, and the most that was served."""

import pytest
from pvcc.carried import carried, rates_not_carried, why_not_carried
from pvcc.client import Counted, PhaseResult, TargetResult
from pvcc.fig6 import LOADS, Fig6
from reproduced_rows import row6, rows6

from windtunnel.engine.histogram import Histogram

MS = 1_000_000


def latency(ns: int, count: int) -> Histogram:
    return Histogram(bits=10, counts=[(ns, count)], total=count, sum=ns * count, min=ns, max=ns)


def target(medians_ms: list[int], offered: int, right: int) -> TargetResult:
    """Two windows of warm-up, then one of 100 ms for each median; a bucket of these histograms is its number up to 2^10."""
    none = dict.fromkeys(("unsent", "lost", "missing", "refused", "wrong"), 0)
    windows = [
        Counted(offered=9, sent=9, right=9, latency=latency(ms, 9), **none) for ms in [900, 900, *medians_ms]
    ]  # fmt: skip
    phase = PhaseResult(
        name="measure", duration_ns=len(medians_ms) * 100 * MS, offered=offered, sent=offered, right=right,
        latency=latency(1, right), latency_sent=latency(1, right), **none,
    )  # fmt: skip
    return TargetResult(name="redis", resets=0, malformed=0, phases=[phase], windows=windows)


class TestCarried:
    @pytest.fixture(autouse=True)
    def units(self, monkeypatch):
        """The medians of these windows are small numbers of ns: so is what they may grow by."""
        monkeypatch.setattr("pvcc.carried.MOST_GROWTH_NS", 10)

    def why(self, *arguments) -> str | None:
        return why_not_carried(target(*arguments), 200 * MS, 100 * MS)

    def test_nearly_all_with_a_response_and_a_steady_median(self):
        assert self.why([5] * 10, 1000, 990) is None
        assert self.why([5] * 5 + [14] * 5, 1000, 1000) is None
        assert self.why([50] * 10, 1000, 1000) is None, "the warm-up does not count, nor a queue that does not grow"

    def test_lost_requests(self):
        assert self.why([5] * 10, 1000, 870) == "13% of the requests had no response"

    def test_a_queue_that_grows(self):
        assert "the median latency grew by" in self.why([5, 5, 10, 15, 20, 25, 30, 40, 50, 60], 1000, 1000)

    def test_an_arm_counts_with_all_of_its_trials_or_not_at_all(self):
        short = {"not_carried": "13% of the requests had no response"}
        rows = [row6(1, "tick", 5), row6(2, "tick", None, **short), row6(1, "alone", 1)]
        assert [row.sharing for row in carried(rows)] == ["alone"]
        others = {"excluded": "others"}
        assert len(carried([row6(1, "tick", 5), row6(2, "tick", None, **short, **others)])) == 2

    def test_the_most_that_was_served_is_said(self):
        more = {"not_carried": "all", "responses_per_s": 2400.0}
        rows = [row6(b, "tick", 5) for b in (1, 2)]
        rows += [
            row6(b, "tick", None, arm=f"{rate}", offered_per_s=rate, **more) for b in (1, 2) for rate in (9000, 3000)
        ]
        assert rates_not_carried(rows, lambda row: f"{row.server}, {row.sharing},") == [
            "not carried here: redis, tick, at 3,000, 9,000 requests a second; at most 2,400 were served"
        ]
        assert rates_not_carried(rows[:2], lambda row: row.server) == []


class TestFig6:
    def test_it_offers_the_papers_rates(self):
        assert {kind: max(full) for kind, (_, full) in LOADS.items()} == {
            "memcached": 100_000,
            "nginx": 50_000,
            "redis": 3_000,
        }

    def test_a_rate_that_is_not_carried_is_neither_compared_nor_drawn(self):
        """Not even by the one trial of six in which it was."""
        more = [
            row6(
                b,
                how,
                7 if b == 1 else None,
                arm=how + " 9000",
                offered_per_s=9000,
                not_carried=None if b == 1 else "x",
            )
            for b in range(6)
            for how in ("tick", "sliced")
        ] + [row6(b, "alone", 5, arm="alone 9000", offered_per_s=9000) for b in range(6)]
        of, rows = Fig6(True, "kicker"), rows6(50_000, 12_000_000, 400_000)
        assert of.verdicts(rows + more) == of.verdicts(rows)
        drawn = {line["name"]: line["x"] for line in of.pictures(rows + more)[0].plot["data"]}
        assert drawn == {
            "alone on the core": [1000, 9000],
            "four, the kernel's tick": [1000],
            "four, slices of 100 us": [1000],
        }
        assert len(of.notes(rows + more)) == 2 and of.notes(rows) == []
