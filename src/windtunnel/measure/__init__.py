"""Measurements: single runs, studies, searches, comparisons, and their validity.

execute        one run from plan to verdict
validity       which windows and runs can be believed
executor       jobs, and where they are executed: on this host, or where another executor says
search         searches on a callable: MLRsearch, binary search, bursts. It knows no run, no scenario and no engine
throughput     runs as that callable, and latency at parts of the rate
compare        which runs can be compared, what is a difference, scenarios that alternate
repeat         one scenario again and again, the median of each state and its interval
variants       one run that changes between windows: variants by keys and delays, and their order
try_handlers   handlers that are opened and not run
counters       events of the workers' threads, read at each window's line
monitor        tools of the host that count during a run, and whose texts are kept
earlier        the rank of a run among the earlier runs beside it
history        which runs are of one history, and what is said of the levels of a metric
study          factors, points, the order of runs, a study's directory and table
"""
