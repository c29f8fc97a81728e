"""Throughput searches: the highest load that a device carries, found with as few trials as we know how.

A trial is a callable `(load, duration_s) -> TrialResult`; nothing here knows what runs. Loads are per second, in
whatever unit the callable means by them.

search           several goals at once: MLRsearch, RFC 9971. NDR, PDR, THROUGHPUT are ready-made goals
binary_search    one trial at a load, halving: RFC 2544, section 26.1
back_to_back     the longest burst without loss, and the buffer that it implies: RFC 9004
Goal, Limits     what is searched for, and where and how long
Objective        of a goal: a percentile of the latency that must not exceed a limit
Latencies        of a trial's messages
TrialResult      what a trial gave; `excluded="why"` for one that does not count and is run again
SearchResult     `.goals` in order, or `result["NDR"]`; `.trials`, `.elapsed_s`, `.stopped`
GoalResult       regular or `.irregular` in words; relevant bounds, conditional throughput, the trials at the bounds
TrialFailed      a trial raised, or gave what cannot be

docs/explanation/searching.md says when to believe a result.
"""

from windtunnel.measure.search.binary import binary_search
from windtunnel.measure.search.bursts import BackToBack, BurstLimits, BurstResult, back_to_back
from windtunnel.measure.search.classification import Bound, classify, conditional_throughput
from windtunnel.measure.search.controller import OnTrial, search
from windtunnel.measure.search.goals import NDR, PDR, THROUGHPUT, Goal, Limits
from windtunnel.measure.search.latency import Latencies, Objective
from windtunnel.measure.search.results import GoalResult, SearchResult
from windtunnel.measure.search.trial_log import TrialFailed
from windtunnel.measure.search.trials import Measure, TrialResult

__all__ = [
    "NDR",
    "PDR",
    "THROUGHPUT",
    "BackToBack",
    "Bound",
    "BurstLimits",
    "BurstResult",
    "Goal",
    "GoalResult",
    "Latencies",
    "Limits",
    "Measure",
    "Objective",
    "OnTrial",
    "SearchResult",
    "TrialFailed",
    "TrialResult",
    "back_to_back",
    "binary_search",
    "classify",
    "conditional_throughput",
    "search",
]
