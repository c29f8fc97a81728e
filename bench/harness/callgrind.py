"""Instructions that the workers of a program execute, counted by valgrind's callgrind.

A count does not depend on the speed of the host, so it resolves what a busy one hides. It says nothing of caches, stalls and
what an instruction costs.
"""

import re
import shutil
from pathlib import Path

NAME = "valgrind"
REMEDY = "Debian, Ubuntu: apt-get install valgrind"


def installed() -> bool:
    return shutil.which(NAME) is not None


class Callgrind:
    """`command` goes before the program's own; `instructions` reads what the program left."""

    def __init__(self, directory: Path, worker: str):
        """`worker`: the function of the program in which instructions count, its callees included."""
        self._out = directory / "callgrind.out"
        # fair-sched: one thread runs at a time, and main must not wait for a worker that polls
        options = ("--tool=callgrind", "--fair-sched=yes", f"--toggle-collect={worker}")
        self.command = [NAME, "-q", *options, f"--callgrind-out-file={self._out}"]

    def instructions(self) -> int:
        total = re.search(r"^totals: (\d+)$", self._out.read_text(), re.MULTILINE)
        assert total is not None, f"{self._out} has no totals"
        self._out.unlink()
        return int(total[1])

    def wrapped(self, binary: Path) -> Path:
        """A script, next to the output, that runs `binary` behind `command`."""
        script = self._out.with_name(f"counted-{binary.name}")
        script.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in [*self.command, binary]) + ' "$@"\n')
        script.chmod(0o755)
        return script
