"""What the five documents name: each row once, what it names is there, and README has the numbers."""

import re
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from windtunnel.cli.app import app
from windtunnel.errors import UserError
from windtunnel.part_registry import PARTS, part_modules
from windtunnel.parts.reproduce import document_rows
from windtunnel.parts.reproduce.claim import DOCUMENTS, shipped
from windtunnel.parts.reproduce.document_rows import COMMAND, DONE, Document, read_document, rows
from windtunnel.parts.reproduce.pages import reference

CHECKOUT = Path(__file__).resolve().parents[3]
NUMBERS = {
    "000": range(1, 54),
    "001": range(54, 75),
    "002": range(75, 98),
    "003": range(98, 118),
    "004": range(118, 137),
}
ALL = {number: read_document(number).row for number in DOCUMENTS}
ROWS = [row for of_document in rows().values() for row in of_document]
IDS = [str(row.number) for row in ROWS]
ROW = """\
[[row]]
number = 1
names = "a thing"
state = "in part"
where = ["docs/index.md"]
missing = "The rest."
"""


def test_each_number_stands_once_in_its_document():
    assert {number: [row.number for row in of_document] for number, of_document in ALL.items()} == {
        number: list(wanted) for number, wanted in NUMBERS.items()
    }


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_what_a_row_names_is_there(row):
    for name in row.files:
        assert (CHECKOUT / name).is_file(), name
    for command in row.commands:
        assert is_a_command(command), command


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_pages_of_a_row_are_in_the_navigation(row):
    nav = (CHECKOUT / "mkdocs.yml").read_text()
    for name in row.files:
        if name.startswith("docs/"):
            assert f": {name.removeprefix('docs/')}\n" in nav


@pytest.mark.parametrize("row", [row for row in ROWS if row.state in DONE], ids=lambda row: str(row.number))
def test_what_is_done_has_a_page_or_a_command_and_a_test(row):
    assert any("test" in name for name in row.files)
    assert row.commands or any(name.startswith("docs/") for name in row.files)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_what_belongs_to_a_part_stands_beside_a_test_of_the_part(row):
    """So the row goes with the part: its page, its scenario, or its command would not be there."""
    words = {word for entry in row.where for word in entry.split()}
    for part in part_modules("catalogue"):
        name = part.__name__.split(".")[-2]
        files = set(part.FILES) | {
            f"{folder}/{stem}.toml"
            for folder, groups in (("scenarios", part.SCENARIOS), ("studies", part.STUDIES))
            for stems in groups.values()
            for stem in stems
        }
        if name != "reproduce" and not words.isdisjoint(files):
            assert name in row.parts, words & files


def test_the_page_has_each_row_and_each_claim():
    page = reference()["five-documents"]
    assert [int(number) for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == [row.number for row in ROWS]
    for claim in shipped():
        assert f"| `{claim.id}` | " in page
    for row in ROWS:
        assert row.missing is None or row.missing in page


@pytest.mark.parametrize(
    ("old", "new", "refusal"),
    [
        ('missing = "The rest."\n', "", "has `missing`"),
        ('state = "in part"', 'state = "done"', "has `missing`"),
        ('state = "in part"', 'state = "maybe"', "000.toml:4: "),
        ("number = 1", "number = 0", "000.toml:2: "),
        ("names =", "name =", '000.toml:3: unknown key "name"'),
    ],
)
def test_a_row_that_is_none_is_refused_with_its_place(tmp_path, monkeypatch, old, new, refusal):
    monkeypatch.setattr(document_rows, "FOLDER", tmp_path)
    (tmp_path / "000.toml").write_text(ROW)
    assert isinstance(read_document("000"), Document)
    (tmp_path / "000.toml").write_text(ROW.replace(old, new, 1))
    with pytest.raises(UserError, match=re.escape(refusal)):
        read_document("000")


def test_rows_of_a_part_that_was_taken_out_are_gone(monkeypatch):
    without = [part for part in PARTS if part != "axio"]
    monkeypatch.setattr(document_rows, "PARTS", without)
    left = [row for of_document in rows().values() for row in of_document]
    assert 0 < len(left) < sum(map(len, ALL.values()))
    assert not any("docs/how-to/axio.md" in row.where for row in left)


def test_readme_has_the_numbers():
    (sentence,) = re.findall(
        r"^.*docs/reference/five-documents\.md.*$", (CHECKOUT / "README.md").read_text(), re.MULTILINE
    )
    numbers = [int(number) for number in re.findall(r"\b\d+\b", sentence)]
    if len(ROWS) < sum(map(len, ALL.values())):
        pytest.skip("a part was taken out, and its rows and claims with it")
    assert numbers == [len(ROWS), sum(row.state in DONE for row in ROWS), len(shipped())]


def is_a_command(text: str) -> bool:
    """Whether its first words are those of a command; tests/unit/test_docs_commands.py parses all of it, on the page."""
    command = typer.main.get_command(app)
    for word in text.removeprefix(COMMAND).split():
        if not isinstance(command, TyperGroup):
            break
        command = command.get_command(typer.Context(command), word)
    return command is not None and (not isinstance(command, TyperGroup) or command.invoke_without_command)
