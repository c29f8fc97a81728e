"""Reading a run directory back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window
from windtunnel.errors import UserError
from windtunnel.notebook import Shown
from windtunnel.runs.migrate import migrate_record, migrate_window, readable
from windtunnel.runs.record import RUN_VERSION, Record, position_beyond
from windtunnel.runs.validity import counted, not_excluded, windows_of
from windtunnel.text_file import MOST_RECORD_BYTES, lines_of, parse_json, read_regular

MOST_WINDOW_BYTES = 4 << 20
"""Longest line of windows.jsonl. A line has some 50 KB if every bucket of a latency was hit."""
MOST_WINDOWS_BYTES = 1 << 30
"""Largest windows.jsonl: hours of such lines."""
Model = TypeVar("Model", bound=BaseModel)
WHICH = "name a directory that `windtunnel run` has left; without a name `windtunnel show` takes the latest"


@dataclass(frozen=True)
class Run(Shown):
    """A run directory in memory. `windows` holds all of each engine by its name, `counted` those that metrics use;
    `problems` what was found amiss in the files, in words for the user, without making them unreadable."""

    path: Path
    record: Record
    windows: dict[str, list[Window]]
    problems: list[str] = field(default_factory=list)

    @property
    def counted(self) -> dict[str, list[Window]]:
        """The windows that metrics use."""
        return counted(self.windows, self.record.validity)

    @property
    def not_excluded(self) -> dict[str, list[Window]]:
        """The windows that are not excluded: those that metrics use, unless so few are left that rejected metrics use all."""
        return not_excluded(self.windows, self.record.validity)

    @property
    def rejected(self) -> bool:
        """Whether its metrics are those of an invalid run."""
        observed = self.record.observed
        measured = windows_of(self.windows) > 0 or (observed is not None and bool(observed.stages))
        return not self.record.verdict.valid and measured

    @property
    def has_metrics(self) -> bool:
        """Whether there is something to show: a valid run, or rejected metrics."""
        return self.usable(include_invalid=True)

    def usable(self, include_invalid: bool = False) -> bool:
        """Whether its metrics may enter studies, comparisons, models and exports."""
        return self.record.verdict.valid or (include_invalid and self.rejected)

    def require_usable(self, include_invalid: bool = False) -> None:
        """Raises UserError with the first reason if the metrics may not be used."""
        if not self.usable(include_invalid):
            message = f"{self.path}: invalid: {self.record.verdict.reasons[0]}"
            remedy = "--include-invalid uses its rejected metrics" if self.rejected else "no window was measured"
            raise UserError(message, remedy=remedy)


def load(path: Path) -> Run:
    """Read the run directory `path`. Raises UserError with file and line if it is not one.

    A last window that a crash cut off is left out and named in `problems`.
    """
    path = Path(path)
    version, record = _record(path / "run.json")
    windows: dict[str, list[Window]] = {engine.name: [] for engine in record.engines}
    plans = {engine.name: engine.plan for engine in record.engines}
    problems = _windows(path / "windows.jsonl", windows, plans, version) if record.engines else []
    if record.verdict.valid and record.engines and not problems and not any(windows.values()):
        problems = ["windows.jsonl: empty: the run has no windows"]
    return Run(path, record, windows, problems)


def record_of(directory: Path) -> Record:
    """What run.json of a run directory holds. Raises UserError if there is none."""
    return _record(Path(directory) / "run.json")[1]


def _record(path: Path) -> tuple[int, Record]:
    """The version in which it was written, and the record as of today."""
    try:
        text = read_regular(path, MOST_RECORD_BYTES)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{path.parent}: not a run directory, it has no {path.name}", remedy=WHICH) from error
    document = parse_json(text, path)
    version = readable(document.get("version") if isinstance(document, dict) else None, path)
    try:
        # what is refused as JSON is made anew for each key that is missing: tens of seconds for some MB
        return version, _validated(Record, document if version == RUN_VERSION else migrate_record(document))
    except ValidationError as error:
        raise UserError(f"{path}: {_first(error)}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: not a complete record of version {version}: {error}") from error


def _windows(path: Path, windows: dict[str, list[Window]], plans: Mapping[str, Plan], version: int) -> list[str]:
    """Fill `windows` from lines that stand beside a record of this version; returns the problems."""
    try:
        for number, line in enumerate(lines_of(path, MOST_WINDOWS_BYTES, MOST_WINDOW_BYTES), 1):
            if not line.endswith(b"\n"):
                return [f"{path.name}:{number}: cut off by a crash and ignored; {number - 1} whole windows before it"]
            try:
                document = migrate_window(from_json(line), version)
                engine = document.pop("engine")
                plan = plans[engine]
                window = _validated(Window, document)
                beyond = position_beyond(plan, window)
                windows[engine].append(window)
            except ValidationError as error:
                raise UserError(f"{path}:{number}: {_first(error)}") from error
            except (ValueError, TypeError, AttributeError, KeyError) as error:
                raise UserError(f"{path}:{number}: not a window of one of this run's engines") from error
            if beyond:
                raise UserError(f"{path}:{number}: {beyond}")
    except FileNotFoundError:
        return [f"{path.name}: missing: the run has no windows"]
    return []


def _validated(model: type[Model], document: Any) -> Model:
    """The document as its model. Whoever wrote it may have had parts that are not here: what they say of a run that did not need them, null or
    an empty list, is left out."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        unused = [
            fault["loc"] for fault in faults if fault["type"] == "extra_forbidden" and fault["input"] in (None, [])
        ]
        if not unused:
            raise
    for *above, key in unused:
        del reduce(getitem, above, document)[key]
    return model.model_validate(document)


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
