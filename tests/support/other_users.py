"""Processes of other users of this host, who have no rights: for tests that run as root."""

import os
import subprocess
import sys
import sysconfig
from contextlib import suppress
from functools import cache
from pathlib import Path

import windtunnel


def user(uid: int, **environment: str) -> dict:
    """How to start a process as a user without a runtime directory of their own, unless `environment` names one."""
    names = {name: value for name, value in os.environ.items() if name not in ("XDG_RUNTIME_DIR", "RUNTIME_DIRECTORY")}
    path = {"PYTHONPATH": os.pathsep.join((str(Path(windtunnel.__file__).parents[1]), sysconfig.get_path("purelib")))}
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
