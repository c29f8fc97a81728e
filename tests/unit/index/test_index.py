"""The index has what lies below its directory, believes none of it, and may be deleted."""

import json
import os
import shutil

import duckdb
import pytest
from comparing import SCENARIO, made
from importing import DATA, run_of
from sample_runs import HOSTILE

from windtunnel.errors import UserError
from windtunnel.index import entry
from windtunnel.index.index import Index, files_below
from windtunnel.index.untrusted import MOST_BYTES, check_files


@pytest.fixture
def runs(tmp_path):
    directory = tmp_path / "runs"
    made(directory / "good", title="good")
    made(directory / "bad", title=HOSTILE, invalid="short")
    made(directory / "s" / "runs" / "1", title="point", scenario=SCENARIO | {"server": {"batch": {"app_rx": 64}}})
    study = {"question": "which batch?", "started": "2026-11-25T10:00:00Z"}
    (directory / "s" / "study.json").write_text(json.dumps(study))
    return directory


@pytest.fixture
def index(runs, tmp_path):
    made = Index(runs, tmp_path / "cache")
    made.refresh()
    yield made
    made.close()


def titles(index, *search):
    return {row.title for row in index.find(*search)[1]}


def test_what_lies_below_is_found_by_metrics_keys_and_labels(index, runs):
    made(runs / "labelled", title="labelled", labels={"commit": "0012", "fw": "22.31"})
    index.refresh()
    assert index.unread == 0
    for search, expected in {
        "": {"good", HOSTILE, "which batch?", "point", "labelled"},
        "verdict = valid p99 > 1ns host = here": {"good", "point", "labelled"},
        "verdict = invalid": {HOSTILE},
        "p99 > 1000s": set(),
        "kind = study": {"which batch?"},
        "label.commit = 0012": {"labelled"},  # a label is text
        "label.commit = 12": set(),
        "label.commit != 12 label.fw = 22.31": {"labelled"},
    }.items():
        assert titles(index, search) == expected, search
    with pytest.raises(UserError, match="a label is text"):
        index.find("label.fw < 22.31")


def test_runs_of_one_scenario_are_one_history(index, runs):
    made(runs / "again", title="again")
    index.refresh()
    titled = {listed.title: listed for listed in index.histories()}
    key = index.history_of("again/run.json")
    of_key = [listed for listed in titled.values() if listed.key == key]
    assert [listed.runs for listed in of_key] == [3]
    readings = index.readings(key)
    assert {reading.title for reading in readings} == {"good", HOSTILE, "again"}
    assert all(reading.values or reading.reasons for reading in readings)
    assert index.history_of("s/study.json") is None and index.readings("nonsense") == []
    (runs / "again" / "run.json").unlink()
    index.refresh()
    assert len(index.readings(key)) == 2


def test_a_run_that_was_damaged_is_in_no_history_any_more(index, runs):
    key = index.history_of("good/run.json")
    (runs / "good" / "run.json").write_text("{")
    index.refresh()
    assert index.history_of("good/run.json") is None
    assert {reading.title for reading in index.readings(key)} == {HOSTILE}


def test_rows_are_sorted(index):
    up = [row.title for row in index.find("kind = run", "title", False)[1]]
    assert up == sorted(up) and up[::-1] == [row.title for row in index.find("kind = run", "title", True)[1]]


def test_what_is_gone_is_forgotten_and_what_changed_is_read_again(index, runs):
    record = json.loads((runs / "good" / "run.json").read_text())
    (runs / "good" / "run.json").write_text(json.dumps(record | {"title": "renamed, and longer"}))
    (runs / "s" / "study.json").unlink()
    index.refresh()
    assert titles(index) == {"renamed, and longer", HOSTILE, "point"}


def test_it_may_be_deleted(index, runs, tmp_path):
    index.close()
    (file,) = (tmp_path / "cache").glob("*.duckdb")
    file.write_bytes(b"damaged")
    again = Index(runs, tmp_path / "cache")
    again.refresh()
    assert len(titles(again)) == 4
    again.close()


def test_a_cache_that_cannot_be_had_is_done_without(runs, tmp_path):
    (tmp_path / "in the way").write_text("")
    made = Index(runs, tmp_path / "in the way")
    made.refresh()
    assert len(titles(made)) == 4
    made.close()


def test_what_is_damaged_is_shown_as_such(index, runs):
    texts = ["", "{", "[]", "3", '{"version": 5}', '{"version": 99}', "[" * 100_000, '{"title": 3}']
    damaged = {f"hurt/{n}/{name}": text for n, text in enumerate(texts) for name in ("run", "study", "search")}
    for path, text in damaged.items():
        file = runs / f"{path}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    index.refresh()
    for path, text in damaged.items():
        (row,) = index.find(f"path = {path}.json")[1]
        assert row.problem or not path.endswith("run"), (path, text[:20])


def test_a_number_that_no_column_holds_is_damage(index, runs):
    """And keeps no other run from being read."""
    shutil.copytree(runs / "good", runs / "huge")
    record = json.loads((runs / "huge" / "run.json").read_text())
    record["scenario"]["duration"] = 10**400
    (runs / "huge" / "run.json").write_text(json.dumps(record))
    index.refresh()
    (row,) = index.find("path = huge/run.json")[1]
    assert row.problem
    assert index.unread == 0


def test_links_and_fifos_are_not_followed(index, runs, tmp_path):
    outside = tmp_path / "outside"
    made(outside, title="secret")
    os.symlink(outside, runs / "linked")
    for name in ("file", "fifo", "inside"):
        (runs / name).mkdir()
    os.symlink(outside / "run.json", runs / "file" / "run.json")
    os.mkfifo(runs / "fifo" / "run.json")
    (runs / "inside" / "run.json").write_bytes((outside / "run.json").read_bytes())
    os.symlink(outside / "windows.jsonl", runs / "inside" / "windows.jsonl")
    index.refresh()
    assert "secret" not in titles(index)
    assert {row.problem for row in index.find("not-known = 1 kind = run")[1]} == set()
    assert all(
        "not a file" in row.problem
        for row in index.find("path >= f kind = run")[1]
        if row.path.split("/")[0] in ("file", "fifo", "inside")
    )
    assert len(titles(index, "path >= fi kind = run")) >= 3


@pytest.mark.parametrize(
    "path", ["../outside/run.json", "/etc/passwd", "", "good", "good/../good/run.json", "s/study.json"]
)
def test_no_path_leads_elsewhere(index, path):
    assert index.run_directory(path) is None


def test_a_run_that_became_a_link_is_not_opened(index, runs, tmp_path):
    assert index.run_directory("good/run.json") == runs / "good"
    (runs / "good").rename(tmp_path / "moved")
    os.symlink(tmp_path / "moved", runs / "good")
    assert index.run_directory("good/run.json") is None


def test_a_name_that_is_no_utf8_is_no_fault(index, runs):
    made(runs / "odd", title="odd")
    (runs / "odd").rename(runs / os.fsdecode(b"\xff\xfe"))
    index.refresh()
    assert "odd" in titles(index)


def test_hidden_directories_are_left_out(runs):
    (runs / ".cache").mkdir()
    (runs / ".cache" / "run.json").write_text("{}")
    assert not [path for path in files_below(runs) if ".cache" in path.parts]


def cache_file(tmp_path):
    (file,) = (tmp_path / "cache").glob("*.duckdb")
    return file


def flipped(file):
    content = bytearray(file.read_bytes())
    for at in range(4096, len(content), 512):
        content[at] ^= 0xFF
    file.write_bytes(content)


def of_another_shape(file):
    file.unlink()
    with duckdb.connect(str(file)) as base:
        base.execute("CREATE TABLE entries (path INTEGER)")


def fifo(file):
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(file.read_bytes()[:5000]),
        lambda file: file.write_bytes(b"hello"),
        flipped,
        of_another_shape,
        fifo,
        lambda file: (file.unlink(), file.mkdir()),
    ],
    ids=["cut", "another file", "flipped", "another shape", "fifo", "directory"],
)
def test_a_damaged_file_is_made_again_with_one_line(index, runs, tmp_path, capsys, damage):
    index.close()
    damage(cache_file(tmp_path))
    again = Index(runs, tmp_path / "cache")
    again.refresh()
    again.refresh()  # what is found to be damaged while it is read is filled by the next one
    assert titles(again) == {"good", HOSTILE, "which batch?", "point"}
    again.close()
    assert capsys.readouterr().err.count("is made again") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("log", [False, True])
def test_a_file_of_another_user_is_made_again(index, runs, tmp_path, capsys, log):
    index.refresh()
    index.close()
    file = cache_file(tmp_path)
    if log:
        file = file.with_name(f"{file.name}.wal")
        file.write_bytes(b"")
    os.chown(file, 54321, -1)
    again = Index(runs, tmp_path / "cache")
    assert titles(again) == set() and "not a file of this user's" in capsys.readouterr().err
    again.close()
    assert cache_file(tmp_path).stat().st_uid == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories away")
def test_in_a_directory_of_another_user_there_is_no_file(runs, tmp_path):
    (tmp_path / "cache").mkdir()
    os.chown(tmp_path / "cache", 54321, -1)
    index = Index(runs, tmp_path / "cache")
    index.refresh()
    assert "good" in titles(index) and not list((tmp_path / "cache").iterdir())
    index.close()


@pytest.mark.parametrize("error", [IndexError, MemoryError, AssertionError])
def test_a_run_that_nobody_foresaw_hides_no_other_run(runs, tmp_path, monkeypatch, error):
    made(runs / "strange", title="strange")

    def read(file):
        if file.parent.name == "strange":
            raise error
        return run_of(file)

    run_of = entry._run
    monkeypatch.setattr(entry, "_run", read)
    index = Index(runs, tmp_path / "cache")
    index.refresh()
    (row,) = index.find("path = strange/run.json")[1]
    assert row.problem == f"damaged: {error.__name__}" and "good" in titles(index)
    index.close()


def test_one_giant_hides_no_other_run(runs, tmp_path):
    made(runs / "text", title="t" * (3 << 20))
    made(runs / "long", title="long")
    os.truncate(runs / "long" / "run.json", 9 << 20)
    made(runs / "keys", title="keys", scenario=SCENARIO | {"more": {f"key{n}": n for n in range(30_000)}})
    index = Index(runs, tmp_path / "cache")
    index.refresh()
    assert titles(index) >= {"good", HOSTILE, "point"} and index.find()[0] == 7
    (row,) = index.find("path = long/run.json")[1]
    assert row.problem == "run.json: larger than 4 MiB"
    index.close()


@pytest.mark.parametrize("name", sorted(MOST_BYTES))
def test_a_giant_beside_a_record_is_not_opened(runs, name):
    """A page of it would be read from that file as a whole."""
    (runs / "giant").mkdir()
    os.truncate(os.open(runs / "giant" / name, os.O_CREAT | os.O_WRONLY), (64 << 20) + 1)
    with pytest.raises(UserError, match=f"{name}: larger than [0-9]+ MiB"):
        check_files(runs / "giant")


def test_a_name_that_is_not_utf8_is_read_once_and_opened(runs, tmp_path):
    bad = os.fsdecode(b"caf\xe9")
    made(runs / bad, title="cafe")
    made(runs / os.fsdecode(b"caf\xe8"), title="other")
    index = Index(runs, tmp_path / "cache")
    index.refresh()
    (row,) = index.find("title = cafe")[1]
    assert row.path == "caf\\xe9/run.json" and index.run_directory(row.path) == (runs / bad).resolve()
    read = []
    index.refresh(read.append)
    assert read == [] and titles(index) >= {"cafe", "other"}
    index.take(row.path)
    index.close()


LONG = "T" * 65_000


def test_texts_of_a_list_are_bounded(index, runs):
    made(runs / "long", title=LONG, labels={f"{n}{LONG[:400]}": LONG[:400] for n in range(60)})
    record = json.loads((runs / "long" / "run.json").read_text())
    (runs / "long" / "run.json").write_text(json.dumps(record | {"question": LONG}))
    (runs / "t").mkdir()
    (runs / "t" / "study.json").write_text(json.dumps({"title": LONG, "host": {"hostname": LONG}}))
    index.refresh()
    for path in ("long/run.json", "t/study.json"):
        (row,) = index.find(f"path = {path}")[1]
        assert row.title == f"{LONG[:299]}…" and len(row.host) <= 300, path
    (reading,) = [each for each in index.readings(index.history_of("long/run.json")) if each.title.startswith("T")]
    assert reading.title == f"{LONG[:299]}…" and len(reading.labels) == 50
    assert {len(text) for pair in reading.labels.items() for text in pair} == {300}


def test_a_checkpoint_without_memory_throws_nothing_away(index, runs, tmp_path, capsys, monkeypatch):
    """As DuckDB says it: no error of memory, and the file has to be opened again."""
    kept = titles(index)
    made(runs / "more", title="more")

    def failed(self):
        with self._open():
            raise duckdb.FatalException(
                "FATAL Error: Failed to create checkpoint because of error: failed to pin block"
            )

    monkeypatch.setattr(Index, "_checkpoint", failed)
    index.refresh()
    assert index.too_large and titles(index) == kept | {"more"}
    said = capsys.readouterr().err
    assert "too large for the index, which stays as it is" in said and "made again" not in said
    monkeypatch.undo()
    made(runs / "further", title="further")
    index.refresh()
    assert titles(index) == kept | {"more"} and capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_real_checkpoint_without_memory_is_no_damage(index, capsys):
    """More rows of long texts than DuckDB has memory for."""
    kept = titles(index)
    with pytest.raises(UserError, match="too large for the index"):
        for n in range(20):
            for m in range(500):
                with index._open() as base:
                    values = [f"{n} {m}", f"{n} {m} {LONG}", f"{n} {m} {LONG[::-1]}"]
                    base.execute("INSERT INTO readings (path, scenario, reading) VALUES (?, ?, ?)", values)
            index._checkpoint()
    assert titles(index) == kept and capsys.readouterr().err == ""


def test_histories_that_take_too_much_memory_are_refused(index, monkeypatch):
    class Lacking:
        def execute(self, *query):
            raise duckdb.OutOfMemoryException("Out of Memory Error")

        def close(self):
            base.close()

    base = index._base
    monkeypatch.setattr(index, "_base", Lacking())
    for ask in (index.histories, lambda: index.history_of("a"), lambda: index.readings("a"), index.find):
        with pytest.raises(UserError, match="takes more than the 40MB"):
            ask()


def test_a_run_is_read_again_if_its_windows_are_gone(index, runs, monkeypatch):
    read = []
    monkeypatch.setattr(index, "_put", lambda path, *_, **__: read.append(path))
    index.refresh()
    assert read == []
    (runs / "good" / "windows.jsonl").write_text("")
    index.refresh()
    assert read == ["good/run.json"]


def test_a_run_of_another_tool_is_not_damaged(tmp_path):
    run = run_of(tmp_path, "testpmd", (DATA / "testpmd-macswap.txt").read_text())
    imported = entry.read_entry(run.path / "run.json")
    assert (imported.verdict, imported.problem) == ("imported", None)
