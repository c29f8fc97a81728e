"""What two runs with copies must have in common to be compared."""

from windtunnel.parts.copies.ledger import copies_of
from windtunnel.runs.record import Record


def facts(record: Record) -> dict[str, str]:
    """Who moves the bytes of payload: a core, if no copier says otherwise."""
    kinds = {copies.kind for engine in record.engines if engine.result for copies in copies_of(engine.result)}
    return {"copies by": " and ".join(sorted(kinds)) or "core"}
