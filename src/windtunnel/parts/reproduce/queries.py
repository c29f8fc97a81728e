"""Queries of a claim over what its commands have written."""

import json
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.parent_death import ending_with_us
from windtunnel.errors import UserError
from windtunnel.parts.reproduce.claim import Claim

PATTERN = "*?[{"
"""Characters of a path that DuckDB takes for a pattern."""
LOOK_S = 0.1


class Ended(Exception):
    """The user has ended a command, or a query."""


class Queries:
    """Of one claim, in a process of their own (`query_process`)."""

    def __init__(self, claim: Claim, place: str, process: subprocess.Popen[str], interrupts: Interrupts):
        self._claim, self._place, self._process, self._interrupts = claim, place, process, interrupts

    def rows(
        self, what: str, sql: str, columns: Sequence[str], optional: Sequence[str] = ()
    ) -> list[dict[str, int | float | str | None]]:
        """These columns of a query's rows, and the optional ones that it has. Raises UserError if it is more than a SELECT, fails, lacks a column,
        has one twice, or has too many rows; `what` names it there. Raises Ended."""
        response = self._response(what, [sql.replace("{place}", self._place), [*columns, *optional]])
        if error := response.get("error"):
            raise self._fault(what, error, "mend its sql")
        if lacking := [column for column in columns if column not in response["columns"]]:
            raise self._fault(what, f'the query has no column "{lacking[0]}"', f"select ... as {lacking[0]}")
        rows: list[dict[str, int | float | str | None]] = response["rows"]
        return rows

    def numbers(self, what: str, row: Mapping[str, Any], columns: Sequence[str]) -> list[float]:
        """Finite numbers of a row. Raises UserError for any other value."""
        numbers = []
        for column in columns:
            value = row[column]
            if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
                raise self._fault(what, f"a value of {column} is no finite number: {str(value)[:40]}", "mend its sql")
            numbers.append(float(value))
        return numbers

    def _response(self, what: str, query: list[Any]) -> dict[str, Any]:
        """Waits for it, and for Ctrl-C: a query may have no end."""
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps(query) + "\n")
            self._process.stdin.flush()
            with selectors.DefaultSelector() as selector:
                selector.register(self._process.stdout, selectors.EVENT_READ)
                while not selector.select(LOOK_S):
                    if self._interrupts.count:
                        raise Ended
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if self._interrupts.count:
            raise Ended
        if not line:
            raise self._fault(what, "its process died: it may want more memory than it is given", "mend its sql")
        response: dict[str, Any] = json.loads(line)
        return response

    def _fault(self, what: str, why: str, remedy: str) -> UserError:
        return UserError(f'claim {self._claim.id}, "{what}": {why}', remedy=remedy)


@contextmanager
def queries_of(claim: Claim, directory: Path, interrupts: Interrupts) -> Iterator[Queries]:
    """They read files of the directory, and no others. Raises UserError for a directory whose name DuckDB would take for a pattern."""
    place = str(directory.resolve()).replace("'", "''")
    if any(character in place for character in PATTERN):
        raise UserError(f"{place}: its name has one of {PATTERN}", remedy="name another directory with --out")
    command = [sys.executable, "-P", "-m", "windtunnel.parts.reproduce.query_process", place]
    arguments = ending_with_us(command, signal.SIGKILL)
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield Queries(claim, place, process, interrupts)
        finally:
            process.kill()
