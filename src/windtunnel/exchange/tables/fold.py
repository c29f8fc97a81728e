"""Rows -> windows, the inverse of `unfold`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from windtunnel.engine.histogram import Histogram
from windtunnel.engine.windows import Window
from windtunnel.errors import UserError
from windtunnel.exchange.tables.shape import BUCKETS, HISTOGRAMS, WINDOWS, counter_table, parts_of, tables
from windtunnel.exchange.tables.unfold import Row

Key = tuple[Any, ...]
"""Cells of the key columns of a table."""


class Fold:
    """Rows of all tables by what they belong to. Raises UserError for rows that belong to nothing."""

    def __init__(self, by_table: Mapping[str, Sequence[Row]]):
        self._groups: dict[str, dict[Key, list[Row]]] = {}
        for name, found in by_table.items():
            keys = [column.name for column in tables()[name].keys]
            owner = keys if name in (WINDOWS, HISTOGRAMS) else keys[:-1]
            groups = self._groups.setdefault(name, {})
            for row in sorted(found, key=lambda row: tuple(row[key] for key in keys)):
                groups.setdefault(tuple(row[key] for key in owner), []).append(row)

    def windows(self) -> list[tuple[str, Window]]:
        """Each with its engine's name. Raises UserError for rows that make none, and for those that are left over."""
        found = []
        for (engine, number), (row, *more) in list(self._take(WINDOWS).items()):
            if more:
                raise UserError(f"{WINDOWS}: window {number} of {engine} stands {len(more) + 1} times")
            try:
                found.append((engine, Window.model_validate(self._window(engine, number, row))))
            except (ValidationError, ValueError) as error:
                raise UserError(f"{WINDOWS}: window {number} of {engine}: {_first(error)}") from error
        for name, groups in self._groups.items():
            for key in groups:
                raise UserError(f"{name}: a row without its parent: {', '.join(map(str, key))}")
        return found

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
            document[field] = {each["key"]: each["value"] for each in counted}
        for field in parts_of(model).histograms:
            document[field] = self._histogram((*at, table, row["row"], field))
        return document

    def _histogram(self, key: Key) -> Row | None:
        found = self._groups.get(HISTOGRAMS, {}).pop(key, None)
        if found is None:
            return None
        if len(found) > 1:
            raise ValueError(f"histogram {key[-1]} stands {len(found)} times")
        buckets = self._groups.get(BUCKETS, {}).pop(key, [])
        return _plain(Histogram, found[0]) | {"counts": [(each["lowest"], each["count"]) for each in buckets]}

    def _take(self, name: str) -> dict[Key, list[Row]]:
        return self._groups.pop(name, {})


def _plain(model: type[BaseModel], row: Row) -> Row:
    return {
        column.name: json.loads(row[column.name]) if column.json else row[column.name]
        for column in parts_of(model).plain
    }


def _first(error: Any) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)
