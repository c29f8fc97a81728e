"""The highest rate that a scenario carries: `windtunnel.measure.search` finds it, and runs are its trials.

trials    a run as a trial: offered messages, responses, and exclusion because of the host
pauses    loss that is the host's: a worker without a CPU for longer than a queue lasts
find      the search from its first run to the last, latency at parts of the rate
bursts    the back-to-back burst
options   a search's options from texts
record    search.json
"""
