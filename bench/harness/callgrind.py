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
        self._out = directory / "callgrind"
        self._out.mkdir(exist_ok=True)
        self._worker = worker
        # fair-sched: one thread runs at a time, and main must not wait for a worker that polls
        options = ("--tool=callgrind", "--fair-sched=yes", f"--toggle-collect={worker}")
        self.command = [NAME, "-q", *options, f"--callgrind-out-file={self._out}/%p"]

    def instructions(self) -> int:
        """Of all processes: the engine runs in a child of the one that is started."""
        total = 0
        for file in self._out.iterdir():
            totals = re.search(r"^totals: (\d+)$", file.read_text(), re.MULTILINE)
            assert totals is not None, f"{file} has no totals"
            total += int(totals[1])
            file.unlink()
        assert total, f"no function {self._worker} ran"
        return total

    def wrapped(self, binary: Path) -> Path:
        """A script, next to the output, that runs `binary` behind `command`."""
        script = self._out.with_name(f"counted-{binary.name}")
        script.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in [*self.command, binary]) + ' "$@"\n')
        script.chmod(0o755)
        return script
