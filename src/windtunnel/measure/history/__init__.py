"""Histories: the metrics of one scenario on one host over time, or over the versions of a label, and the points at which they changed.

`scenarios` says which runs are of one history, `change_points` where a series changes its level, `judge` which of these changes hold by
the tests of `measure.compare`.
"""
