"""A process that measures announces itself: on a Unix socket in Windtunnel's runtime directory it publishes its runs, line by line.

The socket is the announcement: a reader that connects gets everything from the run's beginning on, and may send "stop". The socket of a
killed process takes no connection, so it is known to be stale. Lines of JSON, each one of:

{"live": 1, "kind": "run", "pid": ..., "command": [...], ...}    once, first
{"progress": {"done": 3, "of": 60, ...}}      how far many runs are, each time that one has ended
{"run": 1, "begins": {"title": ..., "plans": [...], ...}}      a run begins
{"run": 1, "of": "windtunnel", "type": "window", ...}      a line of an engine, as it wrote it
{"run": 1, "ended": {"valid": ..., "reasons": [...], ...}}    the verdict
"""
