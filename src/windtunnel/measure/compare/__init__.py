"""Comparing runs: is B faster than A, slower, or is no difference shown?

`compared` takes what a user names, `paired_runs` runs scenarios, `judge` does not know how runs were made.
"""

from windtunnel.measure.compare.compared import Running, compare
from windtunnel.measure.compare.judge import BETWEEN_RUNS, judge
from windtunnel.measure.compare.model import Comparison
from windtunnel.measure.compare.sides import Side, sides

__all__ = ["BETWEEN_RUNS", "Comparison", "Running", "Side", "compare", "judge", "sides"]
