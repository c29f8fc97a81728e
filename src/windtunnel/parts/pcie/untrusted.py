"""Bounds of the files in a run directory that are read."""

from windtunnel.parts.pcie.measured import FILE

MOST_BYTES = {FILE: 4 << 20}
