"""A run's place among the earlier runs of its scenario, in the same state of this host.

Earlier runs are those whose directories lie beside the run's own, as `windtunnel run` leaves them in runs/: nothing else is kept, so
what was deleted is gone. What counts as the same is what `compare` compares: every key of the resolved scenario, host, software,
and the state of the host. Placing a run changes no verdict.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nlargest
from statistics import median

from windtunnel.errors import UserError
from windtunnel.host.states import groups, words
from windtunnel.runs.identity import factors, identity
from windtunnel.runs.latest import written
from windtunnel.runs.reader import Run, record_of
from windtunnel.runs.record import Record
from windtunnel.runs.validity import WHAT, Settled, What, shown
from windtunnel.stats.median import interval

MOST = 50
"""Run directories that are read, the newest before the run."""
MOST_BYTES, MOST_BYTES_IN_ALL = 256 << 10, 4 << 20
"""Sizes of one record that is read, and of all of them: one has some 30 KiB, and each MiB takes half a second."""
LEAST_RUNS = 3
"""Fewest earlier runs that a run is placed among; with fewer, the line lists their values alone."""


@dataclass(frozen=True)
class Earlier:
    """A run among the earlier ones. Values are those of `validity.settled.mean`."""

    what: What
    state: str | None
    """State of the host that all of them share; None: not known of any."""
    value: float
    """Value of the run itself."""
    values: list[float]
    """Values of the earlier runs, the newest first; at least one."""
    other_builds: int
    """How many of them another build of the engine made."""
    median: float | None
    """Median of the earlier runs; None: they are too few."""
    low: float | None
    """95% interval of the median; None: they are too few."""
    high: float | None
    place: int | None
    """Place of the run among all of them, the best is the 1st; None: they are too few."""


def earlier(run: Run) -> Earlier | None:
    """Places the run. None for an invalid run, for one whose level is not known, and if no earlier run is like it. A record that cannot be read is
    no earlier run."""
    own = _level(run.record)
    if own is None:
        return None
    own_identity = identity(run.record), factors(run.record)
    alike = [
        (record, level.mean)
        for record in _earlier_records(run)
        if (level := _level(record)) and level.what == own.what and (identity(record), factors(record)) == own_identity
    ]
    by_state = groups([(record.where,) for record in (run.record, *(record for record, _ in alike))])
    positions = next((group.positions for group in by_state if 0 in group.positions), [])
    same_state = [alike[position - 1] for position in positions if position]
    if not same_state:
        return None
    values = [value for _, value in same_state]
    few = len(values) < LEAST_RUNS
    low, high = interval(values)
    better = sum(
        earlier_value < own.mean if own.what == "p50_ns" else earlier_value > own.mean for earlier_value in values
    )
    return Earlier(
        what=own.what,
        state=run.record.where.state,
        value=own.mean,
        values=values,
        other_builds=sum(record.builds != run.record.builds for record, _ in same_state),
        median=None if few else median(values),
        low=low,
        high=high,
        place=None if few else better + 1,
    )


def line(earlier_runs: Earlier) -> str:
    """The line of `run` and `show`: "earlier: 12 runs here on one L3, the response rate 24.8 M/s in their median [24.2 M/s .. 25.1 M/s];
    this one, 25.0 M/s, is the 4th fastest of 13"."""
    count = len(earlier_runs.values)
    runs = f"{count} run{'s' * (count > 1)} here{f' on {words(earlier_runs.state)}' if earlier_runs.state else ''}"
    if earlier_runs.other_builds:
        runs += f", {earlier_runs.other_builds} of {'them' if count > 1 else 'it'} by another build of the engine"
    what, value = WHAT[earlier_runs.what], shown(earlier_runs.what, earlier_runs.value)
    if earlier_runs.median is None or earlier_runs.place is None:
        values = " and ".join(shown(earlier_runs.what, earlier_value) for earlier_value in earlier_runs.values)
        return f"earlier: {runs}, {what} {values}; this one: {value}"
    known = ""
    if earlier_runs.low is not None and earlier_runs.high is not None:
        known = f" [{shown(earlier_runs.what, earlier_runs.low)} .. {shown(earlier_runs.what, earlier_runs.high)}]"
    middle = f"{what} {shown(earlier_runs.what, earlier_runs.median)} in their median{known}"
    return f"earlier: {runs}, {middle}; this one, {value}, is {_place(earlier_runs, earlier_runs.place)}"


def _place(earlier_runs: Earlier, place: int) -> str:
    least, most = min(earlier_runs.values), max(earlier_runs.values)
    if earlier_runs.value < least:
        return f"below all of them: the least is {shown(earlier_runs.what, least)}"
    if earlier_runs.value > most:
        return f"above all of them: the greatest is {shown(earlier_runs.what, most)}"
    best = "shortest" if earlier_runs.what == "p50_ns" else "fastest"
    return f"the {f'{_ordinal(place)} ' if place > 1 else ''}{best} of {len(earlier_runs.values) + 1}"


def _ordinal(number: int) -> str:
    teen = number in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _earlier_records(run: Run) -> Iterator[Record]:
    """The records in the same directory of runs that had ended when this run began, the newest first."""
    own = run.path.resolve()
    neighbours = written(own.parent)
    ended = next((at for at, path in neighbours if path == own), None)
    began = run.record.started
    if ended is None or began is None:
        return
    left = MOST_BYTES_IN_ALL
    for _, path in nlargest(MOST, ((at, path) for at, path in neighbours if at < ended)):
        try:
            if (size := (path / "run.json").stat().st_size) > min(MOST_BYTES, left):
                continue
            left -= size
            record = record_of(path)
        except (UserError, OSError):
            continue
        if record.finished is not None and record.finished <= began:
            yield record


def _level(record: Record) -> Settled | None:
    """The level that a valid run settled on; None for an invalid one, and for one that changed between windows: its pools and buffers are larger."""
    level = record.validity.settled if record.validity and not record.variants else None
    return level if level and record.verdict.valid else None
