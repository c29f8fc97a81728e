"""What the list of handlers says of tables: the kinds and keys that a scenario may name."""

from collections.abc import Iterable, Iterator

from windtunnel.engine.query import Handler
from windtunnel.parts.tables.keys import BODY_KEYS, FIELDS
from windtunnel.parts.tables.pipeline import HANDLER, METHODS
from windtunnel.results.document import Section, Sentence


def sections(handlers: Iterable[Handler]) -> Iterator[Section]:
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
