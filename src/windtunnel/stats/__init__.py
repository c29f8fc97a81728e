"""Intervals, tests and change points: each once, with its source, and with the coverage that `bench/coverage.py` has seen.

Nothing here knows a run, a window or a metric: numbers go in, estimates come out. Name the module: some are imported where scipy, and even
numpy, would take too long.

bootstrap    intervals by resampling: of medians of blocks, and of what is fitted to values
days         what a run on another day will show
differences  how far apart two sets of runs are
family       many differences at once
levels       steps and trends of a series whose neighbours resemble each other
line         the slope of a straight line
looks        what a few pairs show that are looked at one after the other
mean         the mean of a series whose neighbours resemble each other, and statistics of its parts
median       the median of independent values, as runs are
points       points measured in blocks, as those of a study: their levels, the best of them
profile      the interval of one parameter of a fit, or that nothing bounds it
quantile     a percentile over windows
samples      how many samples a percentile takes
segments     constant parts of a series whose noise is independent
shares       shares of counts
"""
