"""Files that are written and copied lead nowhere else, whatever lies under their names."""

import os

import pytest

from windtunnel.errors import UserError
from windtunnel.runs import files
from windtunnel.runs.files import copy, replace, replacing, temporary_of


@pytest.fixture
def victim(tmp_path):
    file = tmp_path / "victim"
    file.write_text("mine")
    return file


def test_a_link_under_the_temporary_name_is_removed_and_not_followed(tmp_path, victim):
    directory = tmp_path / "run"
    directory.mkdir()
    temporary_of(directory / "run.json").symlink_to(victim)
    replace(directory / "run.json", "{}")
    assert victim.read_text() == "mine"
    assert (directory / "run.json").read_text() == "{}" and not (directory / "run.json").is_symlink()
    assert os.listdir(directory) == ["run.json"]


def test_what_takes_the_temporary_names_place_is_not_written(tmp_path, victim, monkeypatch):
    """Who may write the directory can put a link there after the file was made."""
    made = os.open

    def swapped(path, *how):
        descriptor = made(path, *how)
        if str(path).endswith(".tmp"):
            os.unlink(path)
            os.symlink(victim, path)
        return descriptor

    monkeypatch.setattr(files.os, "open", swapped)
    replace(tmp_path / "run.json", "{}")
    assert victim.read_text() == "mine"
    with replacing(tmp_path / "results") as written:
        written.write_text("theirs")
    assert victim.read_text() == "mine"


def test_a_directory_that_takes_the_place_of_its_own_is_not_written(tmp_path):
    directory, other = tmp_path / "run", tmp_path / "other"
    directory.mkdir()
    other.mkdir()
    with replacing(directory / "run.json") as written:
        directory.rename(tmp_path / "moved")
        directory.symlink_to(other)
        written.write_text("{}")
    assert os.listdir(other) == [] and (tmp_path / "moved" / "run.json").read_text() == "{}"


def test_what_cannot_be_removed_there_is_said(tmp_path):
    (temporary_of(tmp_path / "run.json") / "full").mkdir(parents=True)
    with pytest.raises(UserError, match=r"run\.json"):
        replace(tmp_path / "run.json", "{}")


def test_a_file_is_copied(tmp_path, victim):
    copy(victim, tmp_path / "copied")
    assert (tmp_path / "copied").read_text() == "mine"
    with pytest.raises(FileExistsError):
        copy(victim, tmp_path / "copied")


def test_a_copy_takes_no_more_of_the_disk(tmp_path):
    source = tmp_path / "sparse"
    with source.open("wb") as file:
        file.write(b"begin")
        file.seek(1 << 30)
        file.write(b"middle")
        file.truncate(2 << 30)
    copy(source, tmp_path / "copied")
    there = (tmp_path / "copied").stat()
    assert there.st_size == 2 << 30 and there.st_blocks * 512 <= 1 << 20
    with (tmp_path / "copied").open("rb") as file:
        assert file.read(8) == b"begin\0\0\0"
        file.seek((1 << 30) - 2)
        assert file.read(10) == b"\0\0middle\0\0"


@pytest.mark.parametrize(("mode", "copied"), [(0o600, 0o600), (0o640, 0o640), (0o444, 0o644), (0o755, 0o644)])
def test_a_copy_is_read_by_nobody_else(tmp_path, victim, mode, copied):
    victim.chmod(mode)
    copy(victim, tmp_path / "copied")
    assert (tmp_path / "copied").stat().st_mode & 0o7777 == copied


@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "directory"])
def test_nothing_but_a_file_is_copied(tmp_path, victim, kind):
    source = tmp_path / "source"
    match kind:
        case "link":
            source.symlink_to(victim)
        case "dangling":
            source.symlink_to(tmp_path / "none")
        case "fifo":
            os.mkfifo(source)
        case "directory":
            source.mkdir()
    with pytest.raises(UserError, match="not copied"):
        copy(source, tmp_path / "copied")
    assert not (tmp_path / "copied").exists()
