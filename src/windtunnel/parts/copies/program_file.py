"""Whether a library can be loaded into a program before it begins, by what its file is."""

import os
import shutil
import stat
import struct
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.text_file import open_regular

ELF, CLASS_64, X86_64, INTERPRETER = b"\x7fELF", 2, 62, 3
"""Of an ELF file: its beginning, class and machine; the type of the program header that names the loader (elf(5))."""
MOST_HEADERS, HEAD_BYTES = 1 << 16, 4096
LOADER = "ld-linux-x86-64.so.2"
"""That of the GNU C library."""
CAPABILITIES = "security.capability"
HOW_ELSE = "name a program that is linked dynamically, and starts as the user that you are"


def check_program(command: str) -> None:
    """Raises UserError, in words, for a program that starts without the library: its counters would say that it copies nothing."""
    place = shutil.which(command)
    if place is None:
        raise UserError(f"{command}: no such program", remedy="give the path of a program, or a name on PATH")
    file = Path(place)
    _check_rights(file)
    head = _read(file, HEAD_BYTES)
    if head.startswith(b"#!"):
        file = Path(os.fsdecode(head[2:].split(b"\n")[0].split(maxsplit=1)[0] if head[2:].split() else b""))
        if not file.is_file():
            raise UserError(f"{command}: a script, and its interpreter {file} does not exist", remedy=HOW_ELSE)
        _check_rights(file)
        head = _read(file, HEAD_BYTES)
    if not head.startswith(ELF):
        raise UserError(f"{file}: neither an ELF file nor a script with #!", remedy=f"sh {file}")
    if len(head) < 64 or head[4] != CLASS_64 or struct.unpack_from("<H", head, 18)[0] != X86_64:
        raise UserError(f"{file}: not a program for x86-64, for which the library is built", remedy=HOW_ELSE)
    loader = _loader(file, head)
    if loader is None:
        raise UserError(
            f"{file}: linked statically, so that no library can take the place of its memcpy",
            remedy="link it dynamically, or count with a profiler: perf record",
        )
    if Path(loader).name != LOADER:
        raise UserError(f"{file}: started by {loader}, not by {LOADER} of the GNU C library", remedy=HOW_ELSE)


def _check_rights(file: Path) -> None:
    """The loader takes no library from the environment into a program that gains rights by its file (ld.so(8), secure-execution mode)."""
    facts = file.stat()
    other_user = facts.st_mode & stat.S_ISUID and facts.st_uid != os.geteuid()
    other_group = facts.st_mode & stat.S_ISGID and facts.st_gid != os.getegid()
    if other_user or other_group:
        bit = "set-user-ID" if other_user else "set-group-ID"
        raise UserError(f"{file}: a {bit} program: the loader loads no library of yours into it", remedy=HOW_ELSE)
    try:
        has_capabilities = CAPABILITIES in os.listxattr(file)
    except OSError:  # a file system without extended attributes
        return
    if has_capabilities and os.geteuid():
        raise UserError(
            f"{file}: has file capabilities: the loader loads no library of yours into it", remedy="become root"
        )


def _read(file: Path, most: int, offset: int = 0) -> bytes:
    try:
        with os.fdopen(open_regular(file), "rb") as stream:
            stream.seek(offset)
            return stream.read(most)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{file}: cannot be read: {reason}", remedy=HOW_ELSE) from None


def _loader(file: Path, head: bytes) -> str | None:
    """The path of the loader that the file names; None: it names none."""
    headers_at, (entry, count) = struct.unpack_from("<Q", head, 32)[0], struct.unpack_from("<HH", head, 54)
    headers = _read(file, min(entry * count, MOST_HEADERS), headers_at)
    for at in range(0, len(headers) - 55, max(entry, 56)):
        if struct.unpack_from("<I", headers, at)[0] == INTERPRETER:
            offset, size = struct.unpack_from("<Q", headers, at + 8)[0], struct.unpack_from("<Q", headers, at + 32)[0]
            return os.fsdecode(_read(file, min(size, HEAD_BYTES), offset).split(b"\0")[0])
    return None
