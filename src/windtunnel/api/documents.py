"""What a command shows: documents, their charts, and the renderers."""

from typing import TYPE_CHECKING

from windtunnel.api.lazy import loader_of

if TYPE_CHECKING:
    from windtunnel import format as format
    from windtunnel.results.charts.layout import SERIES as SERIES
    from windtunnel.results.charts.layout import duration_ticks as duration_ticks
    from windtunnel.results.charts.layout import layout_of as layout_of
    from windtunnel.results.charts.layout import ticks_at as ticks_at
    from windtunnel.results.document import Block as Block
    from windtunnel.results.document import Chart as Chart
    from windtunnel.results.document import Column as Column
    from windtunnel.results.document import Document as Document
    from windtunnel.results.document import Marked as Marked
    from windtunnel.results.document import Panel as Panel
    from windtunnel.results.document import Section as Section
    from windtunnel.results.document import Sentence as Sentence
    from windtunnel.results.document import Table as Table
    from windtunnel.results.document import Tone as Tone
    from windtunnel.results.document import columns_of as columns_of
    from windtunnel.results.document import groups_of as groups_of
    from windtunnel.results.host import host_section as host_section
    from windtunnel.results.page.renderer import render as render
    from windtunnel.results.show import show as show
    from windtunnel.results.terminal.console import progress as progress

__getattr__ = loader_of(__name__)
