"""mutants.tsv: a row for each mutant, written as soon as it is known what became of it."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mutant import Mutant

COLUMNS = ("number", "language", "place", "operator", "change", "outcome")
SURVIVED = "SURVIVED"
EXCUSED = "excused: "
KILLED = "killed by "
NO_MUTANT = "no mutant: "


@dataclass
class Row:
    number: str
    """Empty where it was no mutant."""
    language: str
    place: str
    operator: str
    change: str
    outcome: str

    @property
    def counts(self) -> bool:
        return not self.outcome.startswith(NO_MUTANT)


def row_of(mutant: Mutant, number: int, outcome: str) -> Row:
    counted = "" if outcome.startswith(NO_MUTANT) else str(number)
    return Row(counted, mutant.language, mutant.place, mutant.operator, mutant.change, outcome)


class Results:
    """What earlier calls found is known again by place, operator and change."""

    def __init__(self, file: Path, resume: bool) -> None:
        self.file = file
        self._known: dict[tuple[str, str, str], str] = {}
        if resume and file.exists():
            with file.open(newline="") as lines:
                rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
                self._known = {
                    (row["place"], row["operator"], row["change"]): row["outcome"]
                    for row in rows
                    if None not in row.values()
                }
        self._rows: list[Row] = []

    def known(self, mutant: Mutant) -> str | None:
        return self._known.get((mutant.place, mutant.operator, mutant.change))

    def add(self, row: Row) -> None:
        self._rows.append(row)
        rest = [Row("", "", *key, outcome) for key, outcome in self._known.items() if not self._has(key)]
        _write(self.file, [*self._rows, *rest])

    def _has(self, key: tuple[str, str, str]) -> bool:
        return any((row.place, row.operator, row.change) == key for row in self._rows)

    def count(self) -> tuple[int, int, int]:
        """Killed, survived, survived with a reason."""
        outcomes = [row.outcome for row in self._rows if row.counts]
        excused = sum(outcome.startswith(EXCUSED) for outcome in outcomes)
        survived = outcomes.count(SURVIVED)
        return len(outcomes) - survived - excused, survived, excused


def _write(file: Path, rows: Iterable[Row]) -> None:
    new = file.with_suffix(".new")
    text = ["\t".join(COLUMNS), *("\t".join(vars(row).values()) for row in rows)]
    new.write_text("".join(f"{line}\n" for line in text))
    new.replace(file)
