"""Bounds of the files in a run directory that are read."""

from windtunnel.parts.attach import delay_lines, observed_windows

MOST_BYTES = {observed_windows.FILE: 64 << 20, delay_lines.FILE: delay_lines.MOST_BYTES}
"""A page waits for them."""
