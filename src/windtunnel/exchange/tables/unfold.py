"""Windows -> rows."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from windtunnel.engine.histogram import Histogram
from windtunnel.engine.windows import Window
from windtunnel.exchange.tables.shape import BUCKETS, HISTOGRAMS, WINDOWS, counter_table, parts_of

Row = dict[str, Any]


def rows(engine: str, windows: Sequence[Window]) -> Iterator[tuple[str, Row]]:
    """The rows of all windows of one engine, each with its table's name."""
    for number, window in enumerate(windows):
        at = {"engine": engine, "window": number}
        yield WINDOWS, at | _plain(window)
        for field in parts_of(Window).lists:
            for row, part in enumerate(getattr(window, field)):
                yield field, at | {"row": row} | _plain(part)
                yield from _inner(field, part, at, row)


def _inner(table: str, part: BaseModel, at: Row, row: int) -> Iterator[tuple[str, Row]]:
    parts = parts_of(type(part))
    for field in parts.counters:
        for place, (key, value) in enumerate(getattr(part, field).items()):
            yield counter_table(table, field), at | {"row": row, "place": place, "key": key, "value": value}
    for field in parts.histograms:
        histogram: Histogram | None = getattr(part, field)
        if histogram is not None:
            owner = at | {"of": table, "row": row, "name": field}
            yield HISTOGRAMS, owner | _plain(histogram)
            for place, (lowest, count) in enumerate(histogram.counts):
                yield BUCKETS, owner | {"place": place, "lowest": lowest, "count": count}


def _plain(part: BaseModel) -> Row:
    return {
        column.name: json.dumps(to_jsonable_python(getattr(part, column.name)))
        if column.json
        else getattr(part, column.name)
        for column in parts_of(type(part)).plain
    }
