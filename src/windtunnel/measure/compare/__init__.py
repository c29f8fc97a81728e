"""Comparing runs: is B faster than A, slower, or is no difference shown?

`compared` takes what a user names, `paired_runs` runs scenarios, `judge` does not know how runs were made.
"""
