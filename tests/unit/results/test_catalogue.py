"""Lists of what the engine knows: options below their names, cells of several tones, tables without heads, and commands that can be copied."""

import io
import sys

import pytest
from sample_runs import Page
from terminal_views import printed

from windtunnel.results import markdown, notebook
from windtunnel.results.catalogue import Entry, Option, catalogue
from windtunnel.results.document import Bar, Column, Document, Marked, Sentence, Table
from windtunnel.results.page.renderer import render
from windtunnel.results.show import show
from windtunnel.results.terminal.console import results

KV = Entry("kv", "messages", "a store", [Option("keys", "count, default 5", "how many")], needs="memory")
COMMAND = f"  sudo {'x' * 100}"


def shown_everywhere(table: Table) -> list[str]:
    document = Document(kind="list", title="List", blocks=[table])
    return [printed(document), markdown.render(document), notebook.html(document), render(document)]


def test_an_option_stands_below_its_name_with_what_it_takes():
    lines = printed(catalogue(("handler", "sees", "what it does"), [KV])).splitlines()
    assert [line.split() for line in lines[2:]] == [
        ["kv", "messages", "a", "store"],
        ["needs", "memory"],
        ["keys", "(count,", "default", "5)", "how", "many"],
    ]
    page = shown_everywhere(catalogue(("handler", "sees", "what it does"), [KV]))[-1]
    assert '<span class="subject">keys</span><span class="quiet"> (count, default 5)  </span>how many' in page


def test_nothing_known_is_a_table_without_rows():
    assert catalogue(("a", "b", "c"), []).rows == 0


def test_a_cell_of_several_tones_is_one_text_in_every_medium():
    cells = [Sentence("some ", Marked("<tones>", "bad"))]
    terminal, md, cell, page = shown_everywhere(Table([Column("head", cells, words=True)]))
    assert "some <tones>" in terminal and "some &lt;tones>" in md
    assert "some &lt;tones&gt;" in cell and "some <tones>" in Page(page).text


@pytest.mark.parametrize(("head", "headed"), [("", False), ("name", True)])
def test_a_table_without_heads_has_no_line_for_them(head, headed):
    terminal, _, cell, page = shown_everywhere(Table([Column(head, ["a"], words=True)]))
    assert ("─" in terminal) is headed and ("<thead>" in cell) is headed and ("<thead>" in page) is headed


def test_a_bar_is_as_long_as_it_says():
    terminal, *_, page = shown_everywhere(Table([Column("", [Bar(((0.5, "subject"),), cells=40)])]))
    assert "━" * 20 + "─" * 20 in terminal and 'style="width: 360px"' in page


def test_a_command_is_neither_wrapped_nor_cut(monkeypatch):
    out = io.StringIO()
    out.isatty = lambda: True
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    assert results().width == 40
    show(Document(kind="list", title="List", blocks=[Sentence(COMMAND, unwrapped=True)], files=[("run", "y" * 90)]))
    assert COMMAND in out.getvalue() and "y" * 90 in out.getvalue()
