"""Converts the output of other tools to scenarios and runs. What cannot be converted is refused by name, never guessed.

A configuration becomes a scenario, a log becomes a run directory whose record says `imported` and has no engine. Formats are
as their owners' sources have them: testpmd of DPDK 22.11.
"""
