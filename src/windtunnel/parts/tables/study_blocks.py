"""What a study of tables shows more, and what it does not show."""

from collections.abc import Iterator

from windtunnel.measure.study.record import StudyRecord
from windtunnel.parts.tables.marks import marks

__all__ = ["marks", "sentences"]


def sentences(record: StudyRecord) -> Iterator[str]:
    """For a study of tables that counts no events: the values of the thesis that need hardware counters. They are named as not available, never
    shown as 0."""
    if record.counters or not any(".table." in key for factor in record.factors for key in factor.keys):
        return
    probe = (record.host.get("counters") or {}).get("cache-misses") or {}
    reason = "not measured" if probe.get("works") else f"not available: {probe.get('reason') or 'not known here'}"
    yield f"misses of the last-level cache, and loads blocked by failed store forwarding: {reason}"
