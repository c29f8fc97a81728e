"""The highest rate that a scenario carries: `windtunnel.measure.search` finds it, and runs are its trials.

runs   a run as a trial: offered messages, responses, and exclusion because of the host
find      the search from its first run to the last, latency at parts of the rate, the back-to-back burst
record    search.json
view      the terminal's tables
"""
