"""Run directories that come back: whole or not at all, and each of them once."""

import io
import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from access_lists import assert_no_access_list, directory_with_access_list

from windtunnel.errors import UserError
from windtunnel.parts.fleet import run_archive
from windtunnel.parts.fleet.run_archive import PREFIX, pack, sweep, take


def directory(parent, name, text):
    made = parent / name
    (made / "inner").mkdir(parents=True)
    (made / "run.json").write_text(text)
    (made / "inner" / "more").write_text(text)
    return made


def left(parent):
    return sorted(path.name for path in parent.iterdir())


def test_a_directory_comes_back_as_it_was(tmp_path):
    made = directory(tmp_path, "sent", "one")
    (made / "empty").mkdir()
    assert take(pack([made]), [tmp_path / "runs" / "kept"]) == [True]
    assert (tmp_path / "runs" / "kept" / "inner" / "more").read_text() == "one"
    assert (tmp_path / "runs" / "kept" / "empty").is_dir()
    assert left(tmp_path / "runs") == ["kept"]


def test_what_comes_back_has_no_access_list(tmp_path):
    above = directory_with_access_list(tmp_path)
    assert take(pack([directory(tmp_path, "sent", "one")]), [above / "runs" / "kept"]) == [True]
    for made in ("runs", "runs/kept"):
        assert_no_access_list(above / made)


def test_two_directories_have_places_of_their_own(tmp_path):
    sent = pack([directory(tmp_path, name, name) for name in ("first", "second")])
    assert take(sent, [tmp_path / "a" / "01", tmp_path / "b" / "01"]) == [True, True]
    assert [(tmp_path / side / "01" / "run.json").read_text() for side in "ab"] == ["first", "second"]


def test_a_second_attempt_is_not_kept(tmp_path):
    attempts = [pack([directory(tmp_path, name, name)]) for name in ("early", "late")]
    runs = tmp_path / "runs"
    assert [take(each, [runs / "1"]) for each in attempts] == [[True], [False]]
    assert (runs / "1" / "run.json").read_text() == "early" and left(runs) == ["1"]


def test_of_attempts_that_race_one_is_kept_whole(tmp_path, monkeypatch):
    """All of them rename at the same moment."""
    attempts = [pack([directory(tmp_path, f"attempt {n}", f"{n}")]) for n in range(8)]
    barrier, rename = Barrier(len(attempts)), os.rename

    def together(source, target):
        barrier.wait(30)
        rename(source, target)

    monkeypatch.setattr(run_archive.os, "rename", together)
    with ThreadPoolExecutor(len(attempts)) as pool:
        kept = list(pool.map(lambda sent: take(sent, [tmp_path / "runs" / "1"]), attempts))
    assert sorted(kept) == [[False]] * 7 + [[True]]
    winner = str(kept.index([True]))
    texts = {path.read_text() for path in (tmp_path / "runs" / "1").rglob("*") if path.is_file()}
    assert texts == {winner} and left(tmp_path / "runs") == ["1"]


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    sent = pack([directory(tmp_path, "sent", "one")])

    def full(fd):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(run_archive.os, "fsync", full)
    with pytest.raises(UserError, match="No space left") as refused:
        take(sent, [tmp_path / "runs" / "1"])
    assert "free some space" in refused.value.remedy and left(tmp_path / "runs") == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda sent: sent[:700],
        lambda sent: b"x" * len(sent),
        lambda sent: b"",
        lambda sent: sent.replace(b"oneone", b"oneOne", 1),
    ],
)
def test_a_damaged_archive_leaves_nothing_behind(tmp_path, damage):
    sent = damage(pack([directory(tmp_path, "sent", "one" * 1000)]))
    with pytest.raises(UserError):
        take(sent, [tmp_path / "runs" / "1"])
    assert left(tmp_path / "runs") == []


def archive_of(*names, content=b"x" * 100, method=zipfile.ZIP_STORED) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", method) as archive:
        for name in names or ("0/run.json",):
            archive.writestr(name, content)
    return written.getvalue()


HOSTILE = {
    "encrypted": archive_of().replace(b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01\x00"),
    "unknown method": archive_of()
    .replace(b"PK\x01\x02\x14\x03\x14\x00\x00\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x00\x00\x63\x00")
    .replace(b"PK\x03\x04\x14\x00\x00\x00\x00\x00", b"PK\x03\x04\x14\x00\x00\x00\x63\x00"),
    "cut deflate": archive_of(content=bytes(range(256)) * 40, method=zipfile.ZIP_DEFLATED).replace(b"\x63", b"\xff"),
    "broken lzma": archive_of(content=bytes(range(256)) * 40, method=zipfile.ZIP_LZMA).replace(b"\x40", b"\xff"),
    "bzip2": archive_of(method=zipfile.ZIP_BZIP2),
    "deep": archive_of("0/" + "a/" * 100 + "run.json"),
    "a file as a run": archive_of("0"),
    "a file with files in it": archive_of("0/run.json", "0/run.json/a"),
    "a directory as a file": archive_of("0/run.json/a", "0/run.json"),
    "another position": archive_of("1/run.json"),
    "bomb": archive_of(content=bytes(64 << 20), method=zipfile.ZIP_DEFLATED),
}


@pytest.mark.parametrize("sent", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_archive_is_refused_in_words(tmp_path, sent):
    with pytest.raises(UserError, match="what the testbed sent is damaged"):
        take(sent, [tmp_path / "runs" / "1"])
    assert left(tmp_path / "runs") == []


@pytest.mark.parametrize(("limit", "value"), [("MOST_FILES", 2), ("MOST_BYTES", 5)])
def test_an_archive_that_would_fill_the_disk_is_refused(tmp_path, monkeypatch, limit, value):
    monkeypatch.setattr(run_archive, limit, value)
    with pytest.raises(UserError, match="damaged"):
        take(pack([directory(tmp_path, "sent", "one")]), [tmp_path / "runs" / "1"])


def test_an_archive_of_directories_within_directories_is_refused(tmp_path, monkeypatch):
    """A short archive may name very many."""
    monkeypatch.setattr(run_archive, "MOST_FILES", 10)
    with pytest.raises(UserError, match="damaged: 1[0-9] directories"):
        take(archive_of("0/" + "/".join("abcdefghijkl") + "/x"), [tmp_path / "runs" / "1"])
    assert left(tmp_path / "runs") == []


def test_links_and_fifos_stay_on_the_testbed(tmp_path):
    sent = directory(tmp_path, "sent", "one")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (sent / "link").symlink_to(secret)
    (sent / "links").symlink_to(tmp_path)
    os.mkfifo(sent / "fifo")
    assert take(pack([sent]), [tmp_path / "runs" / "1"]) == [True]
    assert left(tmp_path / "runs" / "1") == ["inner", "run.json"]


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "0/../../out", "0/../../../out"])
def test_an_archive_writes_nowhere_else(tmp_path, name):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("0/run.json", "")
        archive.writestr(name, "")
    assert take(written.getvalue(), [tmp_path / "runs" / "1"]) == [True]
    assert left(tmp_path) == ["runs"] and left(tmp_path / "runs") == ["1"]


def test_what_a_killed_attempt_left_is_swept(tmp_path):
    directory(tmp_path, f"{PREFIX}abc", "half")
    directory(tmp_path, "01", "whole")
    sweep([tmp_path / "02"])
    assert left(tmp_path) == ["01"]
