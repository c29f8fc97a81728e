"""`--format markdown`: every table is a pipe table with all columns, and no text becomes anything but text."""

import html
import io
import re

import pytest
import typer
from markdown_it import MarkdownIt
from rich.console import Group
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from windtunnel.cli.app import app
from windtunnel.views.terminal.columns import Column, Fitting
from windtunnel.views.terminal.console import results, results_as_markdown
from windtunnel.views.terminal.markdown import MarkdownConsole
from windtunnel.views.terminal.rejected import Rejected


def printed(*shown: object) -> str:
    console = MarkdownConsole()
    console.file = io.StringIO()
    for one in shown:
        console.print(one)
    return console.file.getvalue()


STAGES = Fitting(
    [Column("stage", ["app_tx", "nic_tx"], words=True), Column("Mpps", ["1.5", Text("2.25", "bold")], spare=1)]
)


def test_a_table_has_heads_rules_by_alignment_and_a_row_a_line():
    assert printed(STAGES) == "\n| stage | Mpps |\n| --- | ---: |\n| app_tx | 1.5 |\n| nic_tx | 2.25 |\n\n"


def test_no_column_is_dropped_and_no_cell_is_wrapped():
    wide = Fitting([Column(f"column {n}", ["word " * 60], spare=n, words=True) for n in range(40)])
    head, rule, row = printed(wide).strip().split("\n")
    assert head.count("|") == rule.count("|") == row.count("|") == 41
    assert ("word " * 60).strip() in row


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a|b", "a\\|b"),
        ("a\\|b", "a\\\\\\|b"),
        ("one\ntwo", "one\\\\ntwo"),
        ("<img src=x>", "&lt;img src=x>"),
        ("[red]x", "[red]x"),
    ],
)
def test_a_cell_stays_one_cell_and_text(text, cell):
    assert f"\n| {cell} |\n" in printed(Fitting([Column("head", [text], words=True)]))


def test_sections_have_no_row_between_them():
    assert printed(Fitting([Column("n", ["1", "2"])], sections=[1])).count("|  |") == 0


def test_lines_around_a_table_stay_lines_of_their_own():
    shown = printed(Group(Text("title"), Text("<b>question"), STAGES, Text("verdict: valid")))
    assert shown.startswith("title  \n&lt;b>question\n\n| stage |")
    assert shown.endswith("| nic_tx | 2.25 |\n\nverdict: valid\n")


def test_what_is_set_in_by_the_terminal_is_not():
    grid = Table.grid()
    grid.add_row("client", "CPU 1", Text("app_tx"))
    assert printed(Padding(grid, (0, 0, 0, 4))) == "client CPU 1 app_tx\n"
    assert printed(Panel(Text("why"), title="invalid")).startswith("**invalid**\n\nwhy")


def test_rejected_metrics_are_marked_in_every_row_and_line():
    lines = printed(Rejected(Group(Text("drops: none"), STAGES)), STAGES).split("\n")
    assert lines[0] == "rejected  drops: none"
    assert lines[2:6] == [
        "|  | stage | Mpps |",
        "| --- | --- | ---: |",
        "| rejected | app_tx | 1.5 |",
        "| rejected | nic_tx | 2.25 |",
    ]
    assert "| app_tx | 1.5 |" in lines, "what comes after is not rejected"


def test_results_are_markdown_within_and_text_after():
    with results_as_markdown():
        assert isinstance(results(), MarkdownConsole)
    assert not isinstance(results(), MarkdownConsole)


def test_the_option_holds_for_one_command(capsys):
    app(["pcie", "nics", "--format", "markdown"], standalone_mode=False)
    assert "| nic | stands for |" in capsys.readouterr().out
    app(["pcie", "nics"], standalone_mode=False)
    assert "|" not in capsys.readouterr().out


def test_every_command_that_prints_json_instead_of_tables_prints_markdown_too():
    def options(found, path=()):
        for name, inner in found.commands.items():
            if hasattr(inner, "commands"):
                yield from options(inner, (*path, name))
            else:
                yield " ".join((*path, name)), {option for param in inner.params for option in param.opts}

    offered = dict(options(typer.main.get_command(app)))
    assert {name for name, has in offered.items() if "--json" in has} <= {
        name for name, has in offered.items() if "--format" in has
    }
    assert {
        "show",
        "run",
        "compare",
        "study",
        "study query",
        "search",
        "tune",
        "model fit",
        "pcie nics",
        "diagnose",
    } <= {name for name, has in offered.items() if "--format" in has}


TEXTS = (
    "<img src=x>",
    "![see](https://evil)",
    "[click](//evil)",
    "[a][b]",
    "[a]: //evil",
    "\\](//evil)",
    "@team",
    "&#64;team",
    "#12",
    "GH-12",
    "`code",
    "\\`code`",
    "https://evil",
    "WWW.evil",
    "_www.evil",
    "a_WWW.evil",
    "__bold__ ___both___ a__b",
    ":-",
    ":-:",
    "    code",
    "\tcode",
    "**valid** _valid_ ~~valid~~",
    "| <img src=x> |",
    "| a | b |",
    "# head",
    "> said",
    "- item",
    "--- | ---",
    "===",
    "---",
    "+ item",
    "* item",
    "1. item",
    "~~~",
    " ## head",
    "$x$",
    "l_app 2.5 a_b",
)


def read_back(written: str) -> tuple[str, str]:
    """What a Markdown reader makes of it, and the texts of that."""
    rendered = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(written)
    return rendered, html.unescape(re.sub(r"<[^>]+>", "", rendered)).replace("\u200b", "")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("place", ["line", "last of a table", "cell", "panel", "rejected"])
def test_a_title_stands_for_nothing_but_itself(text, place):
    table = Table("one")
    table.add_row(Text(text))
    shown = {
        "line": Group(Text("one"), Text(text), Text("one")),
        "last of a table": Group(STAGES, Text(text)),
        "cell": table,
        "panel": Panel("inside", title=Text(text)),
        "rejected": Rejected(Group(Text(text), table)),
    }[place]
    written = printed(shown)
    rendered, seen = read_back(written)
    assert not re.search(r"<(a|img|code|pre|h\d|hr|li|blockquote|em|s)\b|[@#]\w", rendered)
    assert not re.search(r"://|(?i:www)\.|(?<!\\)\$", written)
    assert rendered.count("<table>") == (place in ("cell", "rejected", "last of a table"))
    assert rendered.count("<strong>") == (place == "panel")
    assert text.strip() in [line.removeprefix("rejected").strip() for line in seen.splitlines()]


def test_a_name_that_needs_nothing_is_written_as_it_is():
    assert printed(Text("l_app at 2.5 Mpps [1.5 .. -3%], fd00::1")) == "l_app at 2.5 Mpps [1.5 .. -3%], fd00::1\n"
