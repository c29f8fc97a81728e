"""Directories with an access list, which the kernel hands on to what is made in them."""

import os
import struct
from pathlib import Path

import pytest


def directory_with_access_list(parent: Path) -> Path:
    """A directory whose owner has given another user rights in all that is made below, whatever the umask (acl(5))."""
    user, read_write_execute = 54321, 7
    entries = [(0x01, 7, 0xFFFFFFFF), (0x02, read_write_execute, user), (0x04, 5, 0xFFFFFFFF), (0x10, 7, 0xFFFFFFFF)]
    access_list = struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", *each) for each in [*entries, (0x20, 5, 0xFFFFFFFF)]
    )
    directory = parent / "with access list"
    directory.mkdir()
    try:
        os.setxattr(directory, "system.posix_acl_default", access_list)
    except OSError as error:
        pytest.skip(f"no access lists here: {error.strerror}")
    return directory


def assert_no_access_list(made: Path) -> None:
    (made / "file").write_text("")
    assert os.listxattr(made) == os.listxattr(made / "file") == [] and not made.stat().st_mode & 0o022
    (made / "file").unlink()
