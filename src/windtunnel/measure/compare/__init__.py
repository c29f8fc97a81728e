"""Comparing runs: is B faster than A, slower, or can nobody tell?

Nothing in here knows how the runs came about, except `turns`, which flies two scenarios in turn.
"""

from windtunnel.measure.compare.judge import BETWEEN_RUNS, judge
from windtunnel.measure.compare.model import Comparison
from windtunnel.measure.compare.sides import Side, are_scenarios, sides

__all__ = ["BETWEEN_RUNS", "Comparison", "Side", "are_scenarios", "judge", "sides"]
