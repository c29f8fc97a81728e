"""The highest rate that a scenario carries: `windtunnel.measure.search` finds it, and flights are its trials.

flights   a flight as a trial: what was offered, what came back, and what says nothing because the host disturbed it
find      the search from its first flight to the last, latency at parts of the rate, the back-to-back burst
record    search.json
view      the terminal's tables
"""
