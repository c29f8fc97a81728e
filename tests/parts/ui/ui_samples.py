"""What tests of the spine ask the pages for."""

APART = "windtunnel.parts.ui"
"""Few commands are about them."""
SINKS = {"src/windtunnel/parts/ui/runs.py": {"sys.stderr"}}
"""For print_line."""
