"""Files that somebody else may have written: never waited for, and never read without an end."""

import os
from pathlib import Path

import pytest

from windtunnel.errors import UserError
from windtunnel.text_file import beginning, read_text


def test_the_beginning_of_a_file(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"12345\xff")
    text, status = beginning(file, 3)
    assert (text, status.st_ino, status.st_size) == ("123", file.stat().st_ino, 6)
    assert beginning(file, 100)[0] == "12345\N{REPLACEMENT CHARACTER}"
    (tmp_path / "link").symlink_to(file)
    assert beginning(tmp_path / "link", 100)[0].startswith("12345")
    with pytest.raises(OSError, match="a link, which is not followed"):
        beginning(tmp_path / "link", 100, follow=False)


def test_what_is_no_file_is_an_error_at_once(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path, words in (
        (tmp_path / "fifo", "not a regular file"),
        (tmp_path, "is a directory"),
        (tmp_path / "x", "No such"),
    ):
        with pytest.raises(OSError, match=words):
            beginning(path, 10)


def test_a_text_is_a_regular_file(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "fifo")
    for path, words in (
        (tmp_path / "fifo", "not a regular file"),
        (tmp_path / "link", "not a regular file"),
        (Path("/dev/zero"), "not a regular file"),
        (tmp_path, "is a directory"),
    ):
        with pytest.raises(UserError, match=f"{path}: {words}"):
            read_text(path, 10, "")
