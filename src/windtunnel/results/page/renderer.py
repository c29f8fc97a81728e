"""A document as one HTML file that needs no network."""

import gzip
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from windtunnel import format as fmt
from windtunnel.results.document import (
    Bar,
    Block,
    Cell,
    Chart,
    Column,
    Document,
    Fold,
    Rejected,
    Section,
    Table,
)

PACKAGE = "windtunnel.results.page"
_LONG = 24
"""Characters of a cell of words that may wrap."""


def render(document: Document) -> str:
    """The page, with all that it needs: it loads nothing, so nobody who may write beside it can change it. Whatever came from a user or an
    engine is escaped by the template; in plots by who made them."""
    here = files(PACKAGE)
    charts = list(_charts(document.blocks))
    return rendered(
        environment(PACKAGE),
        "document.html",
        document=document,
        plots={_place(n): chart.plot for n, chart in enumerate(charts)},
        places={id(chart): _place(n) for n, chart in enumerate(charts)},
        css=(here / "page.css").read_text(encoding="utf-8"),
        js=(here / "page.js").read_text(encoding="utf-8"),
        plotly=_packed_plotly() if charts else "",
    )


def rendered(templates: Environment, template: str, **values: Any) -> str:
    """The template with these values, as UTF-8 can have it: what is none, as the name of a file may be, is spelled out."""
    return templates.get_template(template).render(**values).encode(errors="backslashreplace").decode()


@cache
def environment(package: str) -> Environment:
    """The templates of a package, with the formats of `windtunnel.format` as filters. They are compiled once in a process: that takes a quarter
    of a second, and a study writes a page for each run."""
    made = Environment(
        loader=PackageLoader(package, "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    for name in ("number", "count", "percent", "duration", "rate", "size"):
        made.filters[name] = getattr(fmt, name)
    made.filters["slug"] = _slug
    made.filters["headed"] = _capitalised
    made.globals |= {"kind_of": _kind_of, "rows_of": _rows_of, "place_of": _place_of}
    return made


@dataclass(frozen=True)
class _RowOfCells:
    begins: bool
    """A group of rows, which is not the first one."""
    cells: list[tuple[Column, Cell, bool]]
    """Each with whether it is long."""


def _rows_of(table: Table) -> list[_RowOfCells]:
    begins = {group for group in table.groups if group}
    return [
        _RowOfCells(
            n in begins, [(column, cell, _is_long(cell)) for column, cell in zip(table.columns, cells, strict=True)]
        )
        for n, cells in enumerate(zip(*(column.cells for column in table.columns), strict=True))
    ]


def _is_long(cell: Cell) -> bool:
    return not isinstance(cell, Bar) and len(cell if isinstance(cell, str) else cell.text) > _LONG


def _kind_of(block: object) -> str:
    return type(block).__name__


@pass_context
def _place_of(context: Context, chart: Chart) -> str:
    place: str = context["places"][id(chart)]
    return place


def _place(number: int) -> str:
    """A section's title never makes this name: it has no underscore."""
    return f"_plot-{number}"


def _charts(blocks: "Iterator[Block] | Any") -> Iterator[Chart]:
    for block in blocks:
        match block:
            case Chart():
                yield block
            case Section() | Fold() | Rejected():
                yield from _charts(block.blocks)


def _slug(title: str) -> str:
    """A name for a link to a section; empty for a title without Latin letters and digits."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _capitalised(title: str) -> str:
    return title[:1].upper() + title[1:]


@cache
def _packed_plotly() -> str:
    """plotly.js with cartesian plots alone, as gzip in base64: a third of its size, which page.js unpacks."""
    script = (files(PACKAGE) / "plotly" / "plotly-cartesian.min.js").read_bytes()
    return b64encode(gzip.compress(script, mtime=0)).decode("ascii")
