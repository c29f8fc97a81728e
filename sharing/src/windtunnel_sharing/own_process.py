"""Processes of ours that outlive the daemon: the guardian, and what removes cgroups.

They run with the daemon's rights, which may be root's, and so take no code from the directory in which the daemon was started: -P, an
empty or relative entry of PYTHONPATH as it was meant there, and / as their own directory, which also keeps no file system busy. Nor from
HOME, which sudo may leave as it was: -s, unless one of the two packages is installed there.

What they do is for tenants that may leave an ordinary process no time: they run before them.
"""

import os
import site
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import windtunnel
import windtunnel_sharing
from windtunnel_sharing.before_tenants import put_before_tenants


def start(module: str, arguments: Sequence[str], descriptors: Sequence[int]) -> subprocess.Popen[bytes]:
    """Starts `python -m MODULE ARGUMENTS` in a session of its own, with these descriptors and none of our streams but stderr. Paths among the
    arguments have to be absolute. Raises OSError."""
    process = subprocess.Popen(
        [sys.executable, "-P", *_without_home(), "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=descriptors,
        start_new_session=True,
        cwd="/",
        env=os.environ | {"PYTHONPATH": _absolute(os.environ.get("PYTHONPATH", ""))},
    )
    put_before_tenants(process.pid)
    return process


def _without_home() -> list[str]:
    files = [windtunnel.__file__, windtunnel_sharing.__file__]
    return [] if any(Path(file).is_relative_to(site.getusersitepackages()) for file in files) else ["-s"]


def _absolute(python_path: str) -> str:
    """Without the empty entries, which mean the current directory."""
    return os.pathsep.join(os.path.abspath(entry) for entry in python_path.split(os.pathsep) if entry)
