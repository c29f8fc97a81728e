"""What pages say of tables: the kinds and keys that a scenario may name, and what a study of tables does not show."""

from collections.abc import Iterable, Iterator

from windtunnel.engine.query import Handler
from windtunnel.measure.study.record import StudyRecord
from windtunnel.measure.study.study import Study
from windtunnel.parts.tables import marks
from windtunnel.parts.tables.keys import BODY_KEYS, FIELDS
from windtunnel.parts.tables.pipeline import HANDLER, METHODS
from windtunnel.results.charts.marks import Mark
from windtunnel.results.document import Section, Sentence


def handler_sections(handlers: Iterable[Handler]) -> Iterator[Section]:
    """The kinds, methods and keys of the tables of `match_action`, if it is among these handlers."""
    if any(handler.name == HANDLER for handler in handlers):
        yield Section(f"Tables of {HANDLER}", [Sentence(line) for line in _kinds_and_keys()])


def _kinds_and_keys() -> list[str]:
    kinds = "; ".join(f"{kind} by {', '.join(methods)}" for kind, methods in METHODS.items())
    keys = f"{', '.join(BODY_KEYS)}, or a list of {', '.join(FIELDS)}"
    return [
        f'tables of {HANDLER} ([[workload.table]]; page "Match-action tables")',
        f"  kind and method: {kinds}",
        f"  key: {keys}",
    ]


def study_sentences(record: StudyRecord) -> Iterator[str]:
    """For a study of tables that counts no events: the values of the thesis that need hardware counters. They are named as not available, never
    shown as 0."""
    if record.counters or not any(".table." in key for factor in record.factors for key in factor.keys):
        return
    probe = (record.host.get("counters") or {}).get("cache-misses") or {}
    reason = "not measured" if probe.get("works") else f"not available: {probe.get('reason') or 'not known here'}"
    yield f"misses of the last-level cache, and loads blocked by failed store forwarding: {reason}"


def study_marks(study: Study) -> Iterator[Mark]:
    """For the plots of a study of tables: the size that fills the L3, and L(1)."""
    yield from marks.marks(study)
