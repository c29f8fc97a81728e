"""The memory that lookups in a table read, from the handler's counter `memory`."""

from windtunnel.parts.tables.planned_tables import Table

LINE = 64
"""Bytes that one lookup in a table of prefixes touches: a slot, alone in its line."""


def lookup_bytes(table: Table, memory: float, entries: float) -> float:
    """Bytes of the `memory` that a table has. Live tables have two copies. A table of prefixes has a slot for every address; lookups read few of
    them."""
    memory /= 2 if table["access"] == "rcu" else 1
    return min(memory, LINE * entries) if table["kind"] == "lpm" else memory
