"""Programs into which no library can be loaded are refused, in words."""

import os
import struct

import pytest

from windtunnel.errors import UserError
from windtunnel.parts.copies import program_file
from windtunnel.parts.copies.program_file import check_program

LOADER = "/lib64/ld-linux-x86-64.so.2"


@pytest.fixture
def program(tmp_path):
    """A file that can be executed, with this content."""

    def made(content: bytes, mode: int = 0o755):
        file = tmp_path / "program"
        file.write_bytes(content)
        file.chmod(mode)
        return str(file)

    return made


def elf(loader: str | None = LOADER, machine: int = 62, bits: int = 2, headers_at: int = 64) -> bytes:
    """The beginning of an ELF file that names this loader."""
    head = (
        b"\x7fELF"
        + bytes([bits, 1, 1])
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, headers_at, 0, 0, 64, 56, 1, 0, 0, 0)
    )
    name = (loader or "").encode() + b"\0"
    kind = 3 if loader else 1
    return head + struct.pack("<IIQQQQQQ", kind, 4, 120, 0, 0, len(name), len(name), 1) + name


def test_a_program_with_a_loader_is_taken(program):
    check_program(program(elf()))
    check_program("sh")


def test_a_script_is_what_its_interpreter_is(program, tmp_path):
    interpreter = tmp_path / "interpreter"
    interpreter.write_bytes(elf(None))
    interpreter.chmod(0o755)
    check_program(program(b"#!/bin/sh -e\nexit\n"))
    with pytest.raises(UserError, match="interpreter: linked statically"):
        check_program(program(f"#! {interpreter} -x\n".encode()))


def test_a_fifo_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "program", 0o755)
    with pytest.raises(UserError, match="program: cannot be read: not a regular file"):
        check_program(str(tmp_path / "program"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (elf(None), "linked statically, so that no library"),
        (elf("/lib/ld-musl-x86_64.so.1"), "started by /lib/ld-musl-x86_64.so.1, not by"),
        (elf(machine=183), "not a program for x86-64"),
        (elf(bits=1), "not a program for x86-64"),
        (elf()[:40], "not a program for x86-64"),
        (elf(headers_at=1 << 62), "cannot be read|linked statically"),  # as the file system has it
        (elf(headers_at=1 << 63), "cannot be read"),
        (elf(headers_at=4096), "linked statically"),
        (b"echo\n", "neither an ELF file nor a script"),
        (b"", "neither an ELF file nor a script"),
        (b"#!", "its interpreter . does not exist"),
        (b"#!/no/such/program\n", "its interpreter /no/such/program does not exist"),
    ],
)
def test_what_takes_no_library_is_refused(program, content, words):
    with pytest.raises(UserError, match=words):
        check_program(program(content))


def test_a_program_that_is_not_there_is_refused():
    with pytest.raises(UserError, match="no-such-program: no such program"):
        check_program("no-such-program")


@pytest.mark.parametrize(
    ("bit", "who", "words"), [(0o4000, "geteuid", "set-user-ID"), (0o2000, "getegid", "set-group-ID")]
)
def test_a_program_that_gains_rights_is_refused(program, monkeypatch, bit, who, words):
    file = program(elf())
    os.chmod(file, 0o755 | bit)
    check_program(file)
    monkeypatch.setattr(os, who, lambda: 12345)
    with pytest.raises(UserError, match=f"a {words} program"):
        check_program(file)


def test_a_program_with_capabilities_is_refused(program, monkeypatch):
    monkeypatch.setattr(os, "listxattr", lambda _: [program_file.CAPABILITIES])
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(UserError, match="file capabilities"):
        check_program(program(elf()))
