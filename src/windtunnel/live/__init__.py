"""A process that measures announces itself: a Unix socket in Windtunnel's runtime directory, on which it says what runs, line by line.

The socket is the announcement: whoever connects is told everything from the run's beginning on, and may say "stop". One whose process
was killed takes no connection any more, which is how a stale one is known. Lines of JSON, each one of:

{"live": 1, "kind": "run", "pid": ..., "command": [...], ...}    once, first
{"progress": {"done": 3, "of": 60, ...}}      how far many runs are, each time that one has ended
{"run": 1, "begins": {"title": ..., "plans": [...], ...}}      a run begins
{"run": 1, "of": "windtunnel", "type": "window", ...}      a line of an engine, as it wrote it
{"run": 1, "ended": {"valid": ..., "reasons": [...], ...}}    the verdict
"""
