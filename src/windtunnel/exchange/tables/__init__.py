"""A run as tables for other tools, and back from them without loss.

shape    the tables and their columns, derived from the models of the engine's lines, so that a new field needs no code
unfold   windows -> rows
fold     rows -> windows
files    the directory: tables through DuckDB, everything else as it was
"""

from windtunnel.exchange.tables.files import FORMATS, export, restore

__all__ = ["FORMATS", "export", "restore"]
