"""Comparing runs: is B faster than A, slower, or can nobody tell?

`compared` takes what a user names, `turns` flies scenarios, `judge` knows nothing of how runs came about.
"""

from windtunnel.measure.compare.compared import Flying, compare
from windtunnel.measure.compare.judge import BETWEEN_RUNS, judge
from windtunnel.measure.compare.model import Comparison
from windtunnel.measure.compare.sides import Side, sides

__all__ = ["BETWEEN_RUNS", "Comparison", "Flying", "Side", "compare", "judge", "sides"]
