"""Runs that this server started: child processes that outlive the page and its server, and end as they would in a terminal."""

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from windtunnel.engine.own_command import OWN_COMMAND
from windtunnel.engine.own_directory import for_temporary
from windtunnel.errors import UserError
from windtunnel.measure.execute import new_directory
from windtunnel.scenario.load import digest_of

MOST_WORDS = 4000
"""Last characters of the output of a failed run that are kept."""
KEPT = 6
_COMMAND = (*OWN_COMMAND, "run", "--quiet")


@dataclass(frozen=True)
class FailedRun:
    """A run that ended without a run directory."""

    file: str
    exit_code: int
    output: str


@dataclass(frozen=True)
class _Child:
    process: subprocess.Popen[bytes]
    file: Path
    directory: Path
    output: IO[bytes]

    def failed(self) -> FailedRun:
        self.output.seek(0)
        text = self.output.read().decode(errors="replace")[-MOST_WORDS:]
        return FailedRun(self.file.name, self.process.returncode, text.strip())


class StartedRuns:
    """The runs of this server. A run has a process group of its own, so that Ctrl-C here does not reach it, and writes into an unnamed file, which
    exists as long as the server or the run."""

    def __init__(self, runs: Path):
        self._runs = runs
        self._children: list[_Child] = []
        self.failed: list[FailedRun] = []

    def start(self, file: Path, text: str) -> Path:
        """Begins `windtunnel run` of a file, which fails if the file no longer has the checked text: its owner may be another user. Returns its run
        directory, which the run makes. Raises UserError."""
        directory = self._free(new_directory(file.stem).name)
        output = tempfile.TemporaryFile(dir=for_temporary())  # noqa: SIM115 - it is closed when the run has ended
        try:
            child = subprocess.Popen(
                [*_COMMAND, os.fspath(file.absolute()), "--digest", digest_of(text), "--out", os.fspath(directory)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,
            )
        except OSError as error:
            output.close()
            raise UserError(f"the run cannot be started: {error.strerror}", remedy="look at the host") from None
        self._children.append(_Child(child, file, directory, output))
        return directory

    def collect_ended(self) -> bool:
        """Removes the children that have ended. Returns True if one of them left no run directory."""
        ended = [child for child in self._children if child.process.poll() is not None]
        self._children = [child for child in self._children if child not in ended]
        failed = [child.failed() for child in ended if not (child.directory / "run.json").exists()]
        self.failed = [*failed, *self.failed][:KEPT]
        for child in ended:
            child.output.close()
        return bool(failed)

    def _free(self, name: str) -> Path:
        """A directory that does not exist and is not reserved for a run of the same second."""
        promised = {child.directory for child in self._children}
        names = (f"{name}{f'-{number}' if number > 1 else ''}" for number in range(1, 100))
        for path in (self._runs / child for child in names):
            if path not in promised and not os.path.lexists(path):
                return path
        raise UserError(f"{self._runs / name}: exists already", remedy="try again in a second")
