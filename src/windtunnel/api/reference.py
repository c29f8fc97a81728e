"""Generated pages of a reference."""

from windtunnel.schemas.generate import write
from windtunnel.schemas.scenario_page import tables

__all__ = [
    "tables",
    "write",
]
