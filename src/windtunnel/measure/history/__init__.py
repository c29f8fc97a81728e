"""Histories: the metrics of one scenario on one host over time, or over the versions of a label, and the points at which they changed.

`scenarios` says which runs are of one history, `judge` makes it of their readings; `windtunnel.stats.levels` finds the change points.
"""
