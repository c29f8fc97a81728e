"""What a command shows: documents, their charts, and the renderers."""

from windtunnel import format
from windtunnel.results.charts.layout import SERIES, duration_ticks, layout_of, ticks_at
from windtunnel.results.document import (
    Block,
    Chart,
    Column,
    Document,
    Marked,
    Panel,
    Section,
    Sentence,
    Table,
    Tone,
    columns_of,
    groups_of,
)
from windtunnel.results.host import host_section
from windtunnel.results.page.renderer import render
from windtunnel.results.show import show
from windtunnel.results.terminal.console import progress

__all__ = [
    "SERIES",
    "Block",
    "Chart",
    "Column",
    "Document",
    "Marked",
    "Panel",
    "Section",
    "Sentence",
    "Table",
    "Tone",
    "columns_of",
    "duration_ticks",
    "format",
    "groups_of",
    "host_section",
    "layout_of",
    "progress",
    "render",
    "show",
    "ticks_at",
]
