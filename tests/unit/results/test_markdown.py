"""`--format markdown`: every table is a pipe table with all columns, and no text becomes anything but text."""

import html
import re

import pytest
import typer
from markdown_it import MarkdownIt

from windtunnel.cli.app import app
from windtunnel.results.document import Bar, Block, Column, Document, Marked, Panel, Rejected, Section, Sentence, Table
from windtunnel.results.markdown import render
from windtunnel.results.show import results_as_markdown, show


def written(*blocks: Block) -> str:
    """The blocks of a document, without its title."""
    title, _, rest = render(Document(kind="run", title="title", blocks=blocks)).partition("\n")
    assert title == "**title**  "
    return rest


STAGES = Table(
    [Column("stage", ["app_tx", "nic_tx"], words=True), Column("Mpps", ["1.5", Marked("2.25", strong=True)], spare=1)]
)


def test_a_table_has_heads_rules_by_alignment_and_a_row_a_line():
    assert written(STAGES) == "\n| stage | Mpps |\n| --- | ---: |\n| app_tx | 1.5 |\n| nic_tx | 2.25 |\n"


def test_no_column_is_dropped_and_no_cell_is_wrapped():
    wide = Table([Column(f"column {n}", ["word " * 60], spare=n, words=True) for n in range(40)])
    head, rule, row = written(wide).strip().split("\n")
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
    assert f"\n| {cell} |\n" in written(Table([Column("head", [text], words=True)]))


def test_groups_have_no_row_between_them_and_what_is_drawn_no_column():
    assert written(Table([Column("n", ["1", "2"]), Column("", [Bar(()), Bar(())])], groups=[0, 1])).count("|  |") == 0


def test_lines_around_a_table_stay_lines_of_their_own():
    shown = render(
        Document(
            kind="run",
            title="title",
            question="<b>question",
            how=["wire ring", "memory no-huge"],
            blocks=[STAGES],
            warnings=["busy"],
            verdict=Sentence("verdict: ", Marked("valid", "good")),
        )
    )
    assert shown.startswith("**title**  \n&lt;b>question  \nwire ring · memory no-huge  \n\n| stage |")
    assert shown.endswith("| nic_tx | 2.25 |\n\nwarning: busy  \nverdict: valid  \n")


def test_a_panel_has_its_title_above_its_lines():
    assert written(Panel("invalid", [Sentence("why")])).strip().startswith("**invalid**\n\nwhy")


def test_what_is_for_pages_is_not_written():
    only = [Sentence("detail", detail=True), Table([Column("n", ["1"])], detail=True)]
    assert written(*only, Section("absent", [Sentence("x")], terminal="absent")).strip() == ""


def test_rejected_metrics_are_marked_in_every_row_and_line():
    lines = written(Rejected([Sentence("drops: none"), STAGES]), STAGES).split("\n")
    assert lines[1] == "rejected  drops: none  "
    assert lines[3:7] == [
        "|  | stage | Mpps |",
        "| --- | --- | ---: |",
        "| rejected | app_tx | 1.5 |",
        "| rejected | nic_tx | 2.25 |",
    ]
    assert "| app_tx | 1.5 |" in lines, "what comes after is not rejected"


def test_documents_are_markdown_within_and_text_after(capsys):
    document = Document(kind="run", title="title", blocks=[STAGES])
    with results_as_markdown():
        show(document)
    assert capsys.readouterr().out == render(document)
    show(document)
    assert "|" not in capsys.readouterr().out


def test_the_option_holds_for_one_command(capsys):
    app(["wires", "--format", "markdown"], standalone_mode=False)
    assert "| wire |" in capsys.readouterr().out
    app(["wires"], standalone_mode=False)
    assert "| wire |" not in capsys.readouterr().out


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


def read_back(markdown: str) -> tuple[str, str]:
    """What a Markdown reader makes of it, and the texts of that."""
    rendered = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown)
    return rendered, html.unescape(re.sub(r"<[^>]+>", "", rendered)).replace("\u200b", "")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("place", ["line", "last of a table", "cell", "panel", "rejected"])
def test_a_title_stands_for_nothing_but_itself(text, place):
    table = Table([Column("one", [text], words=True)])
    blocks = {
        "line": [Sentence("one"), Sentence(text), Sentence("one")],
        "last of a table": [STAGES, Sentence(text)],
        "cell": [table],
        "panel": [Panel(text, [Sentence("inside")])],
        "rejected": [Rejected([Sentence(text), table])],
    }[place]
    markdown = written(*blocks)
    rendered, seen = read_back(markdown)
    assert not re.search(r"<(a|img|code|pre|h\d|hr|li|blockquote|em|s)\b|[@#]\w", rendered)
    assert not re.search(r"://|(?i:www)\.|(?<!\\)\$", markdown)
    assert rendered.count("<table>") == (place in ("cell", "rejected", "last of a table"))
    assert rendered.count("<strong>") == (place == "panel")
    assert text.strip() in [line.removeprefix("rejected").strip() for line in seen.splitlines()]


def test_a_name_that_needs_nothing_is_written_as_it_is():
    name = "l_app at 2.5 Mpps [1.5 .. -3%], fd00::1"
    assert written(Sentence(name)).strip() == name
