"""What the benches share: samples taken in turns, results with their spread, verdicts that say when there is none.

options      command line
session      one memory mode of one bench: runs scenarios, takes samples in turns
engine_run   a run of our engine, read back from its run directory
testpmd      the peer of the port benches
bare         the reference of the six stages
program      a process that holds both contestants
oracle       the reference of searches, from PyPI
noise        preemption and steal meanwhile
statistics   medians, intervals, verdicts
results      the table and the results file
against      --against DIR: this build and another one, in turns
one_build    the process that measures one of the two
"""
