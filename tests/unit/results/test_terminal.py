"""What a value of a record can do to the layout: nothing. Off a terminal a value is one line, however long; on one a table keeps its columns."""

import io
from dataclasses import MISSING, fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.errors import UserError
from windtunnel.results.document import Column, Marked, Table
from windtunnel.results.run.stages import stage_table
from windtunnel.results.terminal.console import progress, results
from windtunnel.results.terminal.harmless import HarmlessConsole, on_one_line
from windtunnel.results.terminal.messages import show_error
from windtunnel.results.terminal.renderer import FittingTable
from windtunnel.runs.rows import StageRow

LONG = "word " * 900 + "::error::forged"


def lines_of(view, console: Console) -> list[str]:
    console.file = io.StringIO()
    console.print(view)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("console", [results, progress])
@pytest.mark.parametrize("value", [LONG, Text(LONG, "bold"), Text(LONG.replace(" ", "\n"))])
def test_a_value_is_one_line_off_a_terminal(console, value):
    [line] = lines_of(value, console())
    assert line.endswith("::error::forged")


def test_what_is_wider_than_every_value_is_cut_and_not_wrapped():
    [line] = lines_of(LONG * 4, results())
    assert len(line) == 10_000 and line.endswith("…")


def test_a_cell_is_one_line_off_a_terminal():
    table = Table([Column("a", [LONG], words=True), Column("b", [Marked("x\n" * 40, "bad")], words=True)])
    assert len(lines_of(FittingTable(table), results())) == 3


def test_an_error_is_one_line_off_a_terminal(capfd):
    show_error(UserError(LONG, remedy=LONG))
    assert [line.partition(": ")[0] for line in capfd.readouterr().err.splitlines()] == ["error", "remedy"]


def test_each_further_line_of_an_error_has_a_mark(capfd):
    show_error(UserError("two faults:\nfirst\n::error::forged"))
    assert capfd.readouterr().err == "error: two faults:\n| first\n| ::error::forged\n"


def test_styles_stay_where_they_were():
    text = Text.assemble(("a\nb", "red"), "\x1b", ("c", "bold"))
    shown = on_one_line(text)
    assert shown.plain == r"a\nb\u001bc"
    assert [(shown.plain[span.start : span.end], span.style) for span in shown.spans] == [
        (r"a\nb", "red"),
        ("c", "bold"),
    ]
    assert on_one_line(shown) is shown


@pytest.mark.parametrize("name", ["n" * 5000, "\n" * 2000, "\x1b[2J" * 500, "漢" * 3000])
def test_a_long_name_takes_no_number_its_place_on_a_terminal(name):
    columns = [Column("name", [name, "b"], words=True)]
    columns += [Column(head, ["123.4", "5.6"], spare=n) for n, head in enumerate(("rate", "p50", "p99"))]
    console = HarmlessConsole(force_terminal=True, width=80, color_system=None)
    head, rule, *rows = lines_of(FittingTable(Table(columns)), console)
    assert head.split() == ["name", "rate", "p50", "p99"]
    assert [line.split()[-3:] for line in (rows[0], rows[-1])] == [["123.4"] * 3, ["5.6"] * 3]
    assert all(len(line) <= 80 for line in (head, rule, *rows))


SHARES = st.none() | st.floats() | st.sampled_from([1e308, -1.0, float("nan"), float("inf"), 0.0, 1.0])


@given(busy=SHARES, stall=SHARES)
def test_a_bar_is_as_wide_as_ever(busy, stall):
    unknown = {field.name: None for field in fields(StageRow) if field.default is MISSING}
    row = StageRow(**unknown | {"endpoint": "client", "stage": "app_tx", "busy_share": busy, "stall_share": stall})
    [_, _, line] = lines_of(FittingTable(stage_table([row])), HarmlessConsole(width=400, color_system=None))
    assert sum(map(line.count, "━─")) == (0 if busy is None else 8)


@given(st.floats() | st.integers() | st.sampled_from([10**4000, -(10**25), 1e308]))
def test_no_number_is_wider_than_a_column(value):
    if isinstance(value, int):
        assert len(fmt.count(value)) <= 28
    else:
        assert max(len(form(value)) for form in (fmt.number, fmt.percent, fmt.duration, fmt.rate)) <= 36
