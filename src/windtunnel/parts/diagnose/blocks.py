"""The windows of an experiment in blocks: in each of them every variant of the run has one window."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from windtunnel.engine.plan import Variant
from windtunnel.engine.windows import Window
from windtunnel.finding import require
from windtunnel.parts.diagnose.model import Interval
from windtunnel.runs import Run
from windtunnel.runs.metrics import VARIED, measured
from windtunnel.runs.variants import delay_cycles, messages
from windtunnel.stats.bootstrap import medians, medians_again, middle_part
from windtunnel.stats.mean import SHOWN

NO_WINDOW = "the experiment: no window of the scenario as it is counts"
Series = NDArray[np.float64]
Statistic = Callable[[Series], Series]
"""A function of medians; the last axis is that of the variants."""


@dataclass(frozen=True)
class Blocks:
    """The windows of an experiment that count: all of them if too few are left."""

    ns: Series
    """ns per message: a row for each block, a column for each variant, nan if a window is excluded or had no message."""
    delays: Series
    """The delay of each variant, ns per message, as counted."""

    @classmethod
    def from_run(cls, run: Run) -> "Blocks":
        """The blocks of the engine that counts messages. Raises NotMeasured if it has no windows, or none of the first variant."""
        engine = require(
            next((e for e in run.record.engines if any(map(messages, run.windows[e.name]))), None), NO_WINDOW
        )
        variants = len(variants_of(run))
        counted = list(counted_windows(run, engine.name))
        ns = np.full((1 + max((block for block, _ in counted), default=-1), variants), np.nan)
        added, moved = np.zeros(variants), np.zeros(variants)
        for block, window in counted:
            number, count = window.variant, messages(window)
            if number is not None and count:
                ns[block, number] = (window.end_ns - window.start_ns) / count
                added[number] += delay_cycles(window)
                moved[number] += count
        whole_blocks = ns[~np.isnan(ns[:, 0])]
        tick_ns = 1e9 / require(engine.hello, NO_WINDOW).tsc_hz
        return cls(
            require(whole_blocks if len(whole_blocks) else None, NO_WINDOW), added * tick_ns / np.maximum(moved, 1)
        )

    @property
    def count(self) -> int:
        """Blocks in which the window of the first variant counts."""
        return len(self.ns)

    @property
    def ns_a_message(self) -> float:
        """Time per message of the scenario as the file has it."""
        return float(np.median(self.ns[:, 0]))

    @cached_property
    def growth(self) -> Series:
        """What a message of each variant takes longer than in the first variant's window of the same block: medians."""
        return medians(self._differences)

    @cached_property
    def resampled_growth(self) -> Series | None:
        """The growth in resampled blocks, one per row; None: blocks are too few, or a variant has none."""
        return medians_again(self._differences)

    def interval(self, statistic: Statistic) -> Interval:
        """A function of the growths, with its interval."""
        return _interval(statistic, self.growth, self.resampled_growth)

    def gain(self, variant_: int) -> Interval:
        """Gain of the rate, percent."""
        return gain_of(self.ns[:, [0, variant_]])

    @property
    def _differences(self) -> Series:
        return self.ns - self.ns[:, :1]


def counted_windows(run: Run, engine: str) -> Iterator[tuple[int, Window]]:
    """The windows of one engine that count, each with the number of its block; of a run without variants each window is one."""
    validity = run.record.validity
    marks = validity.excluded if validity and not validity.too_few_left else []
    excluded = {mark.window for mark in marks if mark.engine == engine}
    variants = max(1, len(variants_of(run)))
    for place, window in enumerate(measured(run.windows[engine], VARIED)):
        if window.index not in excluded:
            yield place // variants, window


def variants_of(run: Run) -> list[Variant]:
    """The variants of a run; empty: it has none."""
    plans = (engine.plan for engine in run.record.engines)
    return next((plan.variants.variants for plan in plans if plan.variants), [])


def gain_of(ns: Series) -> Interval:
    """The gain of the rate, percent. `ns`: per message, a row for each block, as the file says and with a change."""
    return middle_of(100 * (ns[:, :1] / ns[:, 1:] - 1))


def middle_of(values: Series, level: float = SHOWN) -> Interval:
    """The median of one column of blocks, with its interval at that level."""
    return _interval(lambda middles: middles[..., 0], medians(values), medians_again(values), level)


def _interval(statistic: Statistic, middles: Series, resampled: Series | None, level: float = SHOWN) -> Interval:
    """The statistic and its interval by resampling blocks."""
    mean = float(statistic(middles))
    if resampled is None:
        return Interval(mean=mean, low=None, high=None)
    low, high = middle_part(statistic(resampled), level)
    return Interval(mean=mean, low=float(low), high=float(high))
