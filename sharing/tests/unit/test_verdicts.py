"""Verdicts of the seed's figures on made-up data: holds, does not hold, not shown."""

import pytest
from pvcc.claims import Claim, above, below, under, verdict
from pvcc.fig6 import Fig6
from pvcc.fig10 import SLICES_US, Fig10
from pvcc.fig11 import Fig11
from reproduced_rows import row10, row11, rows6

CLAIM = Claim("9", "It is so")
NEAR = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01]
FAR = [2.0, 2.02, 1.97, 2.05, 1.94, 2.01, 2.0]
WIDE = [0.5, 2.1, 0.7, 1.6, 0.4, 1.9, 1.1]


class TestClaims:
    @pytest.mark.parametrize(
        ("finding", "outcome"),
        [
            (above("x", NEAR, FAR), "holds"),
            (above("x", FAR, NEAR), "does not hold"),
            (above("x", NEAR, WIDE), "not shown"),
            (above("x", NEAR, FAR, 1.5), "holds"),
            (above("x", NEAR, FAR, 3), "does not hold"),
            (above("x", NEAR, FAR, 2), "not shown"),
            (below("x", FAR, NEAR), "holds"),
            (below("x", NEAR, FAR), "does not hold"),
            (below("x", NEAR, WIDE), "not shown"),
            (under("x", [400, 410, 405, 398], 1000), "holds"),
            (under("x", [1400, 1410, 1405, 1398], 1000), "does not hold"),
            (under("x", [700, 1410, 905, 1198], 1000), "not shown"),
        ],
    )
    def test_the_interval_decides(self, finding, outcome):
        assert finding.outcome == outcome
        assert finding.low < finding.ratio < finding.high

    @pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [0.0, 0.0, 0.0, 5.0]])
    def test_too_few_pairs_show_nothing(self, values):
        found = above("x", values, [2 * v for v in values])
        assert (found.outcome, found.ratio) == ("not shown", None)

    def test_a_claim_holds_with_all_of_its_findings(self):
        yes, no, open_ = above("yes", NEAR, FAR), above("no", FAR, NEAR), above("open", NEAR, WIDE)
        assert verdict(CLAIM, [yes, yes]).outcome == "holds"
        assert verdict(CLAIM, [yes, open_]).outcome == "not shown"
        assert verdict(CLAIM, [yes, open_]).because == "undecided: open"
        assert verdict(CLAIM, [yes, open_, no]).outcome == "does not hold"
        assert verdict(CLAIM, [yes, open_, no]).because == "contradicted by: no"
        assert verdict(CLAIM, []).outcome == "not shown"
        assert verdict(CLAIM, [open_] * 18).because == f"undecided: {'open; ' * 4}and 14 more"


class TestVerdicts:
    def outcomes(self, rows) -> dict[str, str]:
        return {v.number: v.outcome for v in Fig6(True, "kicker").verdicts(rows)}

    def test_fig6(self):
        assert self.outcomes(rows6(50_000, 12_000_000, 400_000)) == {"2": "holds", "3": "holds", "Fig. 6": "holds"}
        assert self.outcomes(rows6(50_000, 12_000_000, 13_000_000)) == {
            "2": "holds",
            "3": "does not hold",
            "Fig. 6": "does not hold",
        }
        assert self.outcomes(rows6(50_000, 12_000_000, 400_000, blocks=2)) == dict.fromkeys(
            ("2", "3", "Fig. 6"), "not shown"
        )

    def test_excluded_trials_and_those_without_a_p99_do_not_count(self):
        rows = rows6(50_000, 12_000_000, 400_000)
        spoiled = [
            r.model_copy(update={"excluded": "others", "p99_ns": 10**10} if r.block < 3 else {})
            if r.sharing == "sliced"
            else r
            for r in rows
        ]
        [_, shorter, _] = Fig6(True, "kicker").verdicts(spoiled)
        assert shorter.outcome == "holds" and [f.pairs for f in shorter.findings] == [3]
        without_p99 = [r.model_copy(update={"p99_ns": None}) if r.sharing == "tick" else r for r in rows]
        assert self.outcomes(without_p99) == {"2": "not shown", "3": "not shown", "Fig. 6": "holds"}

    @pytest.mark.parametrize(
        ("peak_short", "tail_short", "outcome"),
        [(80_000, 300_000, "holds"), (120_000, 300_000, "does not hold"), (80_000, 5_000_000, "does not hold")],
    )
    def test_fig10(self, peak_short, tail_short, outcome):
        rows = []
        for block in range(6):
            for us in SLICES_US:
                short = us == min(SLICES_US)
                rows.append(row10(block, us, 0.2, 20_000, tail_short if short else 3_000_000))
                rows.append(row10(block, us, 1.2, peak_short if short else 100_000, 9_000_000))
        [found] = Fig10(True, "kicker").verdicts(rows)
        assert found.outcome == outcome and len(found.findings) == 2

    @pytest.mark.parametrize(
        ("slices", "loads", "outcomes"),
        [
            ((100, 1000), (0.2,), {"peak": "not shown", "p99": "holds"}),
            ((100, 1000), (1.2,), {"peak": "holds", "p99": "not shown"}),
            ((100, 1000), (0.2, 1.2), {"peak": "holds", "p99": "holds"}),
            ((100,), (0.2, 1.2), {}),
        ],
    )
    def test_chosen_points_show_half_of_the_trade(self, slices, loads, outcomes):
        """Below the capacity there is no peak, above it no low load, and one slice is no comparison."""
        rows = [row10(b, us, load, 10_000 + us, 10_000 + 9 * us) for b in range(6) for us in slices for load in loads]
        [found] = Fig10(True, "kicker").verdicts(rows)
        assert {finding.what.split()[2]: finding.outcome for finding in found.findings} == outcomes
        assert found.outcome == ("holds" if list(outcomes.values()) == ["holds"] * 2 else "not shown")

    def test_fig11(self):
        def outcome(**scaled) -> str:
            ways = ("naive", "pinned", "scaled")
            rows = [row11(b, way, **(scaled if way == "scaled" else {})) for b in range(6) for way in ways]
            [found] = Fig11(True, "kicker").verdicts(rows)
            return found.outcome

        assert outcome() == "holds"
        assert outcome(served_per_s=800.0) == "does not hold"
        assert outcome(batch_cpu=0.5) == "does not hold"
        assert outcome(p99_ns=10_000_000) == "does not hold"
