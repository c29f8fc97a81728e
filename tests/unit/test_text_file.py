"""Files that somebody else may have written: never waited for, and never read without an end."""

import os
from pathlib import Path

import pytest

from windtunnel.errors import UserError
from windtunnel.text_file import beginning, hinted, read_text, typographic


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


@pytest.mark.parametrize(
    "raw",
    [
        b"one\ntwo\xc3\xa4\n",
        b"\xef\xbb\xbfone\ntwo\xc3\xa4\n",  # Notepad's UTF-8 with its mark
        "one\ntwoä\n".encode("utf-16-le").join([b"\xff\xfe", b""]),  # Notepad's Unicode, PowerShell's `>`
        "one\ntwoä\n".encode("utf-16-be").join([b"\xfe\xff", b""]),
        b"one\n\xef\xbb\xbftwo\xc3\xa4\n",  # cat of two files with a mark
    ],
)
def test_byte_order_marks_are_no_part_of_a_text(tmp_path, raw):
    (tmp_path / "x").write_bytes(raw)
    assert read_text(tmp_path / "x", 100, "") == "one\ntwoä\n"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"one\nca\xe9\n", "x:2: byte 0xe9 is not UTF-8 (column 3, é in Windows-1252)"),
        (b"\xef\xbb\xbftitle = \x93x\x94", "x:1: byte 0x93 is not UTF-8 (column 9, “ in Windows-1252)"),
        ("ä".encode() + b"\x81", "x:1: byte 0x81 is not UTF-8 (column 2)"),
        (b"\xff\xfea", "x:1: its mark says UTF-16, and byte 2 is none"),
        ("a\nb = 1".encode("utf-16-le"), "x:1: a NUL character (column 2): no text, or UTF-16 without its mark"),
        (b"a\nb\0", "x:2: a NUL character (column 2): no text, or UTF-16 without its mark"),
    ],
)
def test_what_is_no_text_is_named_with_line_column_and_character(tmp_path, raw, words):
    (tmp_path / "x").write_bytes(raw)
    with pytest.raises(UserError) as refused:
        read_text(tmp_path / "x", 100, "name another")
    assert refused.value.message.endswith(words) and refused.value.remedy == "name another, saved as UTF-8"


@pytest.mark.parametrize(
    ("line", "words", "remedy"),
    [
        ("a = “b”", "column 5: “ is a typographic quotation mark", "write \" or '"),
        ("a = «b»", "column 5: « is a typographic quotation mark", "write \" or '"),
        ("a = –5", "column 5: – is a typographic dash", "write -"),
        ("a = −5", "column 5: − is a typographic dash", "write -"),
        ("a\u00a0= 5", "column 2: U+00A0 is a typographic space", "plain space"),
        ("1\u202f000", "column 2: U+202F is a typographic space", "plain space"),
        ("a = 5\u200b", "column 6: U+200B is an invisible character", "remove it"),
        ("a = ５", "column 5: ５ is a full-width character", "ASCII"),
    ],
)
def test_typographic_characters_are_named(line, words, remedy):
    found = typographic(line)
    assert found is not None and found[0] == words and remedy in found[1]
    assert hinted("no number", line).startswith(f"no number ({words}: ") and hinted(words, line) == words


def test_the_character_at_which_a_parser_stopped_comes_first():
    assert typographic("a = “b” = –", 11) == ("column 11: – is a typographic dash", "write - in its place")
    assert typographic("a = b  # it’s", 5) is None, "what follows did not stop it"
    assert typographic("plain - 'text' \"x\"") is None and hinted("wrong", "plain") == "wrong"
