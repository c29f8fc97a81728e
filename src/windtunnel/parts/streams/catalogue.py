"""What streams have outside of their folders."""

SCENARIOS = {"TCP streams": ("stream", "stream-to-kernel")}
STUDIES = {"TCP streams": ("copy-stream",)}
FILES = ("bench/socket_sink.py", "bench/streams.py", "docs/how-to/stream-tcp.md")
