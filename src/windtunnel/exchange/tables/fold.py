"""Rows -> windows, the inverse of `unfold`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from pydantic import BaseModel, ValidationError

from windtunnel.engine.histogram import Histogram
from windtunnel.engine.windows import Window
from windtunnel.errors import UserError
from windtunnel.exchange.tables.shape import BUCKETS, HISTOGRAMS, WINDOWS, counter_table, parts_of, tables
from windtunnel.exchange.tables.unfold import Row
from windtunnel.text_file import parse_json

Key = tuple[Any, ...]
"""Cells of the key columns of a table."""
MOST_WINDOW_ROWS = 1 << 18
"""Rows of one window in all tables. A window of two workers has some 1,200."""


def fold(by_table: Mapping[str, Iterable[Row]]) -> Iterator[tuple[str, Window]]:
    """Each window with its engine's name, as soon as its rows were read: the tables are in the order of windows, as `unfold` writes them, so
    only the rows of one window are kept. Raises UserError for rows that make no window, and for rows that are left over."""
    groups = {name: groupby(table_rows, key=itemgetter("engine", "window")) for name, table_rows in by_table.items()}
    windows = groups.pop(WINDOWS)
    waiting = {name: next(group, None) for name, group in groups.items()}
    last: dict[str, int] = {}
    for key, table_rows in windows:
        engine, number = key
        row, more = next(table_rows), sum(1 for _ in table_rows)
        if more:
            raise UserError(f"{WINDOWS}: window {number} of {engine} stands {more + 1} times")
        if number <= last.get(engine, -1):
            raise UserError(f"{WINDOWS}: window {number} of {engine} stands below window {last[engine]}")
        last[engine] = number
        rows: dict[str, list[Row]] = {}
        remaining = MOST_WINDOW_ROWS
        for name, group in waiting.items():
            if group and group[0] == key:
                rows[name] = list(islice(group[1], remaining + 1))
                remaining -= len(rows[name])
                if remaining < 0:
                    raise UserError(f"{name}: window {number} of {engine} has more than {MOST_WINDOW_ROWS:,} rows")
                waiting[name] = next(groups[name], None)
        try:
            yield engine, _WindowRows(rows).window(engine, number, row)
        except (ValidationError, ValueError, UserError) as error:
            raise UserError(f"{WINDOWS}: window {number} of {engine}: {_first(error)}") from error
    for name, group in waiting.items():
        if group:
            raise UserError(f"{name}: a row without its parent: {', '.join(map(str, group[0]))}, or in another order")


class _WindowRows:
    """The rows of one window, grouped by the part that they belong to."""

    def __init__(self, by_table: Mapping[str, Sequence[Row]]):
        self._groups: dict[str, dict[Key, list[Row]]] = {}
        for name, rows in by_table.items():
            keys = [column.name for column in tables()[name].keys]
            owner = keys if name == HISTOGRAMS else keys[:-1]
            groups = self._groups.setdefault(name, {})
            for row in sorted(rows, key=itemgetter(*keys)):
                groups.setdefault(tuple(row[key] for key in owner), []).append(row)

    def window(self, engine: str, number: int, row: Row) -> Window:
        """The window. Raises UserError for rows that are left over, ValueError for rows that make no window."""
        window = Window.model_validate(self._window(engine, number, row))
        for name, groups in self._groups.items():
            for key in groups:
                raise UserError(f"{name}: a row without its parent: {', '.join(map(str, key))}")
        return window

    def _window(self, engine: str, number: int, row: Row) -> Row:
        document = _plain(Window, row)
        for field, model in parts_of(Window).lists.items():
            parts = self._groups.get(field, {}).pop((engine, number), [])
            document[field] = [self._part(field, model, part) for part in parts]
        return document

    def _part(self, table: str, model: type[BaseModel], row: Row) -> Row:
        document = _plain(model, row)
        at = (row["engine"], row["window"])
        for field in parts_of(model).counters:
            counted = self._groups.get(counter_table(table, field), {}).pop((*at, row["row"]), [])
            document[field] = {entry["key"]: entry["value"] for entry in counted}
        for field in parts_of(model).histograms:
            document[field] = self._histogram((*at, table, row["row"], field))
        return document

    def _histogram(self, key: Key) -> Row | None:
        histograms = self._groups.get(HISTOGRAMS, {}).pop(key, None)
        if histograms is None:
            return None
        if len(histograms) > 1:
            raise ValueError(f"histogram {key[-1]} stands {len(histograms)} times")
        buckets = self._groups.get(BUCKETS, {}).pop(key, [])
        return _plain(Histogram, histograms[0]) | {
            "counts": [(bucket["lowest"], bucket["count"]) for bucket in buckets]
        }


def _plain(model: type[BaseModel], row: Row) -> Row:
    return {
        column.name: parse_json(row[column.name] or "", column.name) if column.json else row[column.name]
        for column in parts_of(model).plain
    }


def _first(error: Any) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)
