"""The files that an engine writes: its log, and what it records. They are made in a directory that stays open, whatever takes its name."""

import os
from pathlib import Path
from typing import Any, Self

from windtunnel.engine.lines import AnyLine, Error
from windtunnel.engine.plan import Plan
from windtunnel.errors import cannot_write


class Outputs:
    """The directory of a new log, and the log. Close it after the last engine that writes there.

    Raises UserError for a log that exists, be it a link, or cannot be made.
    """

    def __init__(self, log: Path):
        new = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self.directory = os.open(log.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                self.log = os.open(log.name, new, 0o644, dir_fd=self.directory)
            except OSError:
                os.close(self.directory)
                raise
        except OSError as error:
            raise cannot_write(log, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self.log)
        os.close(self.directory)

    def plan(self, plan: Plan) -> Plan:
        """The plan for an engine that inherits `directory`: what it records is made beside the log."""
        placed: dict[str, Any] = {}
        if plan.record is not None:
            placed["record"] = self._inherited(plan.record)
        if plan.trace is not None:
            placed["trace"] = plan.trace.model_copy(update={"path": self._inherited(plan.trace.path)})
        return plan.model_copy(update=placed)

    def line(self, line: AnyLine, plan: Plan) -> AnyLine:
        """The engine's line, with the files named as in the plan that the user knows."""
        if not isinstance(line, Error):
            return line
        message = line.message
        for path in (plan.record, plan.trace.path if plan.trace else None):
            if path is not None:
                message = message.replace(self._inherited(path), path)
        return line.model_copy(update={"message": message})

    def _inherited(self, path: str) -> str:
        return f"/proc/self/fd/{self.directory}/{Path(path).name}"
