"""What the benches share: samples taken in turns, figures with their spread, verdicts that know what they cannot tell.

options      command line
session      one memory mode of one bench: flies scenarios, takes samples in turns
flown        a run of ours, read back from its run directory
testpmd      the peer of the port benches
bare         the reference of the six stages
oracle       the reference of searches, from PyPI
noise        what the host took away meanwhile
statistics   medians, intervals, verdicts
figures      the table and the results file
"""
