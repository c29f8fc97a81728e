"""TCP streams: a workload writes and reads a connection in place of messages over UDP."""
