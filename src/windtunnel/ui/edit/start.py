"""Runs that were started here: child processes that outlive the page and its server, and end as they would in a terminal."""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from windtunnel.errors import UserError
from windtunnel.measure.execute import new_directory
from windtunnel.scenario.load import digest_of

MOST_WORDS = 4000
"""Characters of what a run that failed said last."""
KEPT = 6
_COMMAND = (sys.executable, "-P", "-c", "from windtunnel.cli import main; main()", "run", "--quiet")
"""-P: no module of the working directory takes the place of ours."""


@dataclass(frozen=True)
class Failed:
    """A run that ended without a run directory. `words`: what it said."""

    file: str
    exit_code: int
    words: str


@dataclass(frozen=True)
class _Child:
    process: subprocess.Popen[bytes]
    file: Path
    directory: Path
    said: IO[bytes]

    def failed(self) -> Failed:
        self.said.seek(0)
        words = self.said.read().decode(errors="replace")[-MOST_WORDS:]
        return Failed(self.file.name, self.process.returncode, words.strip())


class Started:
    """The runs of this server. A run has a process group of its own, so that Ctrl-C here does not reach it, and writes into a file without a
    name, which is there as long as one of us is."""

    def __init__(self, runs: Path):
        self._runs = runs
        self._children: list[_Child] = []
        self.failed: list[Failed] = []

    def start(self, file: Path, text: str) -> Path:
        """Begins `windtunnel run` of a file as long as it has the text that was checked: its owner may be another user. Returns its run directory,
        which the run makes. Raises UserError."""
        directory = self._free(new_directory(file.stem).name)
        said = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when the run has ended
        try:
            child = subprocess.Popen(
                [*_COMMAND, os.fspath(file.absolute()), "--digest", digest_of(text), "--out", os.fspath(directory)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                process_group=0,
            )
        except OSError as error:
            said.close()
            raise UserError(f"the run cannot be started: {error.strerror}", remedy="look at the host") from None
        self._children.append(_Child(child, file, directory, said))
        return directory

    def look(self) -> bool:
        """Removes the children that have ended. Returns True if one of them left no run directory."""
        ended = [each for each in self._children if each.process.poll() is not None]
        self._children = [each for each in self._children if each not in ended]
        failed = [each.failed() for each in ended if not (each.directory / "run.json").exists()]
        self.failed = [*failed, *self.failed][:KEPT]
        for each in ended:
            each.said.close()
        return bool(failed)

    def _free(self, name: str) -> Path:
        """A directory that is not there, nor promised to a run of the same second."""
        promised = {each.directory for each in self._children}
        names = (f"{name}{f'-{number}' if number > 1 else ''}" for number in range(1, 100))
        for path in (self._runs / each for each in names):
            if path not in promised and not os.path.lexists(path):
                return path
        raise UserError(f"{self._runs / name}: exists already", remedy="try again in a second")
