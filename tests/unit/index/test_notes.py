"""Tags and a note of a run: kept with it, found again, never believed."""

import json
import os

import pytest
from comparing import made
from sample_runs import HOSTILE

from windtunnel.errors import UserError
from windtunnel.index import notes
from windtunnel.index.index import Index


@pytest.fixture
def run(tmp_path):
    made(tmp_path / "runs" / "one", title="one")
    made(tmp_path / "runs" / "two", title="two")
    return tmp_path / "runs" / "one"


@pytest.fixture
def index(run, tmp_path):
    made = Index(run.parent, tmp_path / "cache")
    made.refresh()
    yield made
    made.close()


def titles(index, search):
    return {row.title for row in index.find(search)[1]}


def test_a_run_without_notes_has_none(run):
    assert notes.read(run) == notes.Notes()
    assert not (run / notes.NAME).exists()


def test_notes_are_kept_with_the_run_which_stays_as_it_is(run):
    before = {path: path.read_bytes() for path in run.iterdir() if path.is_file()}
    notes.write(run, "baseline, firmware-7 baseline", f"  {HOSTILE}\nsecond line ")
    assert notes.read(run) == notes.Notes(tags=["baseline", "firmware-7"], note=f"{HOSTILE}\nsecond line")
    assert {path: path.read_bytes() for path in before} == before
    notes.write(run, "", "")
    assert notes.read(run) == notes.Notes()


def test_they_are_found(index, run):
    notes.write(run, "baseline base", "after the cable was changed")
    index.take("one/run.json")
    assert titles(index, "tag = baseline") == {"one"}
    assert titles(index, "tag = base") == {"one"}
    assert titles(index, "tag = line") == set()
    assert titles(index, "tag != baseline") == {"two"}
    assert titles(index, "cable") == {"one"}
    (row,) = index.find("cable")[1]
    assert row.tags.split() == ["baseline", "base"]
    assert row.note == "after the cable was changed"


def test_what_another_program_noted_is_read_at_the_next_look(index, run):
    notes.write(run, "late", "")
    index.refresh()
    assert titles(index, "tag = late") == {"one"}
    (run / notes.NAME).unlink()
    index.refresh()
    assert titles(index, "tag = late") == set()


@pytest.mark.parametrize(
    ("tags", "note"),
    [("<b>", ""), ("x" * 41, ""), (" ".join(map(str, range(21))), ""), ("", "x" * 4001), ("a;b", "")],
)
def test_what_is_no_tag_is_refused(run, tags, note):
    with pytest.raises(UserError):
        notes.write(run, tags, note)
    assert not (run / notes.NAME).exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"tags": 3}', '{"tags": ["a b"]}', '{"other": 1}', "[" * 100_000])
def test_damaged_notes_are_shown_as_such(index, run, content):
    (run / notes.NAME).write_text(content)
    index.refresh()
    (row,) = index.find("one kind = run path = one/run.json")[1]
    assert "notes.json" in row.problem
    assert row.responses_per_s


@pytest.mark.parametrize("name", [notes.NAME, f".{notes.NAME}.tmp"])
def test_a_link_is_neither_read_nor_written(run, tmp_path, name):
    outside = tmp_path / "outside"
    outside.write_text(json.dumps({"tags": ["theirs"]}))
    os.symlink(outside, run / name)
    with pytest.raises(UserError):
        notes.write(run, "mine", "")
    assert json.loads(outside.read_text()) == {"tags": ["theirs"]}


def test_a_linked_file_of_notes_is_not_read(run, tmp_path):
    (tmp_path / "outside").write_text('{"tags": ["theirs"]}')
    (run / notes.NAME).symlink_to(tmp_path / "outside")
    with pytest.raises(UserError, match="damaged"):
        notes.read(run)


@pytest.mark.parametrize("what", ["the run", "the directory above"])
@pytest.mark.parametrize("when", ["before", "after it was checked"])
def test_notes_are_written_into_the_run_that_was_meant(run, tmp_path, monkeypatch, what, when):
    """Who may write above a run puts a link to another directory in its place."""
    moved = run if what == "the run" else run.parent
    (tmp_path / "theirs" / "one").mkdir(parents=True)
    target = tmp_path / "theirs" / ("" if moved == run.parent else "one")

    def swap(*_):
        moved.rename(tmp_path / "moved")
        moved.symlink_to(target)

    if when == "before":
        swap()
        with pytest.raises(UserError, match="a link, which is not followed"):
            notes.write(run, "", "mine")
    else:
        monkeypatch.setattr(notes, "check_files", swap)
        notes.write(run, "", "mine")
        assert list((tmp_path / "moved").rglob(notes.NAME))
    assert not list((tmp_path / "theirs").rglob("*.json"))


def test_a_tag_is_there_or_not(index):
    with pytest.raises(UserError, match="there or not"):
        index.find("tag < 3")


def test_a_search_that_takes_too_much_memory_says_so(index, monkeypatch):
    import duckdb

    class Full:
        def execute(self, *_):
            raise duckdb.OutOfMemoryException("out of memory")

        def close(self):
            pass

    base = index._base
    monkeypatch.setattr(index, "_base", Full())
    with pytest.raises(UserError, match="takes more than"):
        index.find("p99 > 1us")
    base.close()
