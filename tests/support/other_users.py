"""Processes of other users of this host, who have no rights: for tests that run as root."""

import os
import struct
import subprocess
import sys
import sysconfig
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

import windtunnel

ACCESS_LIST = "system.posix_acl_access"
_NOBODY = 0xFFFFFFFF


def access_list(uid: int) -> bytes:
    """An access list (acl(5)) as an extended attribute: a user may read, write and enter what has it, whatever its mode says."""
    owner, theirs, group, mask, others = (
        (1, 7, _NOBODY),
        (2, 7, uid),
        (4, 5, _NOBODY),
        (16, 7, _NOBODY),
        (32, 5, _NOBODY),
    )
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *each) for each in (owner, theirs, group, mask, others))


def give_by_access_list(place: Path, uid: int) -> None:
    try:
        os.setxattr(place, ACCESS_LIST, access_list(uid))
    except OSError as error:
        pytest.skip(f"no access lists here: {error.strerror}")


def user(uid: int, **environment: str) -> dict:
    """How to start a process as a user without a runtime directory of their own, unless `environment` names one."""
    names = {name: value for name, value in os.environ.items() if name not in ("XDG_RUNTIME_DIR", "RUNTIME_DIRECTORY")}
    sources = Path(windtunnel.__file__).parents[1]
    places = (sources, sources.parent / "sharing" / "src", sysconfig.get_path("purelib"))
    path = {"PYTHONPATH": os.pathsep.join(map(str, places))}
    return {"user": uid, "group": uid, "extra_groups": [], "cwd": "/", "env": names | path | environment}


@cache
def python(*uids: int) -> str | None:
    """An interpreter that all of them may run: ours may be in somebody's home. None where there is none, or they may not read this checkout."""
    for path in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        with suppress(OSError, subprocess.CalledProcessError):
            for uid in uids:
                subprocess.run(
                    [path, "-c", "import typer, pydantic, windtunnel"], **user(uid), check=True, capture_output=True
                )
            return path
    return None
