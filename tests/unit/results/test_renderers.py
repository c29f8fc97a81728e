"""What each renderer shows of each block: a page shows all of it, and nothing that a terminal shows is missing from Markdown."""

import re

import pytest
from sample_runs import Page
from terminal_views import printed

from windtunnel.results import markdown, notebook
from windtunnel.results.document import (
    Bar,
    Chart,
    Column,
    Document,
    Facts,
    Fold,
    Headlines,
    Listing,
    Marked,
    Panel,
    Rejected,
    Section,
    Sentence,
    Table,
)
from windtunnel.results.page import renderer as page

TABLE = Table([Column("words", ["cell"], words=True), Column("number", [Marked("1.5", "loss")]), Column("", [Bar(())])])
PLACES = ("terminal", "page", "markdown", "notebook")
EVERYWHERE = set(PLACES)
LINES = {"terminal", "page", "markdown"}
ON_PAGES = {"page"}
BLOCKS = {
    "a sentence": ([Sentence("shown")], LINES),
    "a sentence of parts": ([Sentence("it is ", Marked("shown", "bad", strong=True))], LINES),
    "a detail": ([Sentence("shown", detail=True)], ON_PAGES),
    "a table": ([Table([Column("shown", ["cell"], words=True)])], EVERYWHERE),
    "a cell": ([Table([Column("head", ["shown"], words=True)])], EVERYWHERE),
    "a cell with a tone": ([Table([Column("head", [Marked("shown", "waits")])])], EVERYWHERE),
    "a cell of parts": ([Table([Column("head", [Sentence("it is ", Marked("shown"))])])], EVERYWHERE),
    "a table of details": ([Table([Column("shown", ["cell"])], detail=True)], ON_PAGES),
    "a panel": ([Panel("title", [Sentence("shown")])], EVERYWHERE),
    "the title of a panel": ([Panel("shown", [Sentence("line")])], EVERYWHERE),
    "the title of a section": ([Section("shown", [TABLE])], ON_PAGES),
    "a title that is for terminals too": ([Section("shown", [TABLE], terminal="titled")], LINES),
    "what a section is about": ([Section("title", [TABLE], about="shown")], ON_PAGES),
    "what stands in a section": ([Section("title", [Sentence("shown")])], LINES),
    "a section of a page alone": ([Section("title", [Sentence("shown")], terminal="absent")], ON_PAGES),
    "the caption of a chart": ([Chart({"data": [], "layout": {}}, about="shown")], ON_PAGES),
    "facts": ([Facts([("label", "shown")])], ON_PAGES),
    "a listing": ([Listing("shown")], ON_PAGES),
    "what is folded": ([Fold("title", [Sentence("shown")])], ON_PAGES),
    "the title of what is folded": ([Fold("shown", [TABLE])], ON_PAGES),
    "a headline": ([Headlines([("1.5 Mpps", "shown")])], {"page", "notebook"}),
    "what is rejected": ([Rejected([Sentence("shown")])], LINES),
}


def rendered(document: Document) -> dict[str, str]:
    return {
        "terminal": printed(document),
        "page": Page(page.render(document)).text,
        "markdown": markdown.render(document),
        "notebook": notebook.html(document),
    }


@pytest.mark.parametrize("name", BLOCKS)
def test_each_block_is_shown_where_it_is_to_be(name):
    blocks, places = BLOCKS[name]
    of = rendered(Document(kind="run", title="title", blocks=blocks))
    assert {place for place, text in of.items() if "shown" in text.lower()} == places


@pytest.mark.parametrize(
    ("parts", "places"),
    [
        ({"question": "shown"}, LINES),
        ({"how": ["shown"]}, EVERYWHERE),
        ({"emulated": ["shown"]}, LINES),
        ({"notes": ["shown"]}, LINES),
        ({"footnotes": ["shown"]}, LINES),
        ({"warnings": ["shown"]}, EVERYWHERE),
        ({"verdict": Sentence("shown")}, EVERYWHERE),
        ({"verdict": Panel("title", [Sentence("shown")])}, EVERYWHERE),
        ({"files": [("run", "shown")]}, {"terminal", "markdown", "notebook"}),
        ({"made_from": "shown"}, ON_PAGES),
    ],
)
def test_each_part_of_a_document_is_shown_where_it_is_to_be(parts, places):
    of = rendered(Document(kind="run", title="title", blocks=[], **parts))
    assert {place for place, text in of.items() if "shown" in text} == places


def test_the_verdict_is_the_first_thing_on_a_page_and_the_last_one_in_a_terminal():
    of = rendered(Document(kind="run", title="title", blocks=[Sentence("body")], verdict=Sentence("verdict: valid")))
    assert of["page"].index("verdict") < of["page"].index("body")
    assert of["terminal"].index("body") < of["terminal"].index("verdict")


def test_rejected_metrics_are_marked_in_every_medium():
    of = rendered(Document(kind="run", title="title", blocks=[Rejected([TABLE]), TABLE]))
    lines = [line for line in of["terminal"].splitlines() if "1.5" in line]
    assert [line.startswith("rejected") for line in lines] == [True, False]
    assert of["markdown"].count("| rejected | cell |") == 1
    assert of["notebook"].count("<s>1.5</s>") == 1
    html = "".join(page.render(Document(kind="run", title="title", blocks=[Rejected([TABLE]), TABLE])).split())
    rejected, _, after = html.partition('<divclass="rejected">')[2].partition("</table></div></div>")
    assert "1.5" in rejected and "1.5" in after


def test_a_notebook_shows_the_main_table():
    main = Table([Column("main", ["1"])], is_main=True)
    assert "main" in notebook.html(Document(kind="run", title="title", blocks=[TABLE, Section("more", [main])]))


def test_a_section_is_never_taken_for_the_plots():
    """A title may be what a script is called by."""
    blocks = [
        Section("Figures", [Chart({"data": [], "layout": {}})]),
        Section("plot 0", []),
        Section("Übersicht ø", []),
    ]
    html = page.render(Document(kind="run", title="title", blocks=blocks))
    ids = re.findall(r' id="([^"]*)"', html)
    assert len(ids) == len(set(ids)) and "" not in ids and {"_plots", "_plotly", "_plot-0", "figures"} <= set(ids)


def test_a_bar_is_drawn_where_it_can_be():
    table = Table([Column("busy", [Bar(((0.5, "subject"), (0.25, "waits")))])])
    of = rendered(Document(kind="run", title="title", blocks=[table]))
    assert "━━━━━━──" in of["terminal"] and "busy" not in of["markdown"] + of["notebook"]
    assert '<i class="subject" style="width: 50.0%">' in page.render(
        Document(kind="run", title="title", blocks=[table])
    )
