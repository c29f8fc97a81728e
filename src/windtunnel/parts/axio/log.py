"""Conversion of tables of Axio's log to stage rows, and back.

Axio's values keep Axio's meaning (from its sources) where it differs. Notes state the difference.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from windtunnel.errors import UserError
from windtunnel.exchange.source import Fault, Foreign
from windtunnel.parts.axio.table import COLUMNS, END_TO_END, FILLED, NEVER_SEEN, Table, Value
from windtunnel.runs.metrics import TRAVEL, ratio
from windtunnel.runs.record import ForeignValue
from windtunnel.runs.rows import Spread, StageRow, only

if TYPE_CHECKING:
    from windtunnel.runs.reader import Run

POOL = "mbufs in use, share of the pool"
NOTES = (
    "nic_rx: Axio's time is the interval between two packets of a queue, not the work on one",
    "nic_tx, disp_*: Axio counts calls of the port as stall of disp_tx and disp_rx; nic_tx is the stall of disp_tx again",
    "a batch's completion is without its stall in Axio",
)

_NS_PER_US = 1000
_STAGES = [name for name in FILLED if name != END_TO_END]
_NOTHING_MOVED = tuple(Decimal(value) for value in (0, 0, 0, 0, NEVER_SEEN, 0, 0, NEVER_SEEN, 0))
"""The cells that Axio prints for a missing or idle stage."""
_STALLS, _COMPLETIONS = slice(3, 6), slice(6, 9)


def sides_of(foreign: Foreign, tables: Sequence[Table], option: str | None) -> dict[str, list[Table]]:
    """The tables by side: the side is in the log, else in the option, else it follows from app_tx, which only a client has. Raises UserError if
    none of these tells."""
    unnamed = [table for table in tables if table.side is None]
    _refuse_contradiction(foreign, unnamed, option)
    guess = option or _guess(unnamed)
    if guess is None and unnamed:
        what = "the log does not say which side wrote it, and no packets moved"
        raise foreign.error([Fault(tables[0].line, what, "--side client, or --side server")])
    sides: dict[str, list[Table]] = {}
    for table in tables:
        if side := table.side or guess:
            sides.setdefault(side, []).append(table)
    return sides


def _refuse_contradiction(foreign: Foreign, tables: Sequence[Table], option: str | None) -> None:
    """Raises UserError for tables that are evidently of two sides, or of another side than the option says."""
    lines: dict[str, int] = {}
    for table in tables:
        if (side := _guess([table])) is not None:
            lines.setdefault(side, table.line)
    if option == "client" and lines.keys() == {"server"}:
        what = "app_tx, a stage of clients, moved nothing, but other stages did"
        raise foreign.error([Fault(lines["server"], what, "--side server")])
    if option == "server" and "client" in lines:
        what = "app_tx, which only a client has, moved packets"
        raise foreign.error([Fault(lines["client"], what, "--side client, or a file for each side")])
    if option is None and len(lines) > 1:
        what = f"app_tx moved packets here, and none in the table of line {lines['server']}: tables of both sides?"
        raise foreign.error(
            [Fault(lines["client"], what, "a file for each side, or --side client if both are a client's")]
        )


def _guess(tables: Iterable[Table]) -> str | None:
    moved = {name for table in tables for name in _STAGES if table.cell(name, COLUMNS[0])}
    return ("client" if "app_tx" in moved else "server") if moved else None


def check(tables: Iterable[Table]) -> list[Fault]:
    """Faults for values that contradict each other."""
    faults = []
    for table in tables:
        for name in _STAGES:
            average, stall = [*table.rows[name], None][1:3]
            if average is not None and stall is not None and stall > average:
                what = f"table in line {table.line}: {name} has a stall longer than its total ({stall} of {average})"
                faults.append(Fault(table.line, what, "Avg. Stall [/P] is a part of Avg. [/P]"))
    return faults


def stage_rows(side: str, tables: Sequence[Table]) -> list[StageRow]:
    """The stages of one side over all its tables, in the order in which a packet travels. Windows of Axio are alike long, so
    throughput is their mean; times a packet are weighted by packets."""
    rows = {name: _joined([_stage_row(side, name, table) for table in tables]) for name in _STAGES}
    measured = {name: row for name, row in rows.items() if row != only(StageRow, endpoint=side, stage=name)}
    return [measured[name] for name in TRAVEL[side] if name in measured]


def values(side: str, tables: Sequence[Table]) -> list[ForeignValue]:
    ends = [end for table in tables if (end := table.cell(END_TO_END, COLUMNS[0])) is not None]
    foreign_values = [ForeignValue(of=side, name="tables", value=len(tables), unit="windows")]
    if ends and len(ends) == len(tables):
        foreign_values.append(ForeignValue(of=side, name=END_TO_END, value=float(sum(ends) / len(ends)), unit="Mpps"))
    if used := [table.pool_in_use for table in tables if table.pool_in_use is not None]:
        names = {POOL: used[0]} if len(tables) == 1 else {f"{POOL}, lowest": min(used), f"{POOL}, highest": max(used)}
        foreign_values += [
            ForeignValue(of=side, name=name, value=float(share), unit="share") for name, share in names.items()
        ]
    return foreign_values


def _stage_row(side: str, name: str, table: Table) -> StageRow:
    values = table.rows[name]
    mpps, average, stall = [*values, None][:3]
    if mpps == 0 and not any(values[1:3]):
        average = stall = None  # nothing to divide by
    return only(
        StageRow,
        endpoint=side,
        stage=name,
        mpps=None if mpps is None else float(mpps),
        work_ns=None if average is None else _ns(average - (stall or 0)),
        stall_ns=None if stall is None else _ns(stall),
        stall=_spread(values[_STALLS]),
        completion=_spread(values[_COMPLETIONS]),
    )


def _spread(values: Sequence[Value]) -> Spread | None:
    """The spread from maximum, minimum and mean, in the order of the columns; None if there was no batch."""
    if not values or set(values) == {None}:
        return None
    maximum, minimum, mean = values
    if minimum == NEVER_SEEN and (maximum is None or minimum > maximum):
        return None
    ns = [None if value is None else _ns(value) for value in (minimum, mean, maximum)]
    return Spread(minimum=ns[0], mean=ns[1], p50=None, p99=None, maximum=ns[2])


def _ns(us: Decimal) -> float:
    return float(us * _NS_PER_US)


def _joined(rows: Sequence[StageRow]) -> StageRow:
    """One stage over several windows of one length."""
    if len(rows) == 1:
        return rows[0]
    throughput = [row.mpps for row in rows if row.mpps is not None]
    packets = [row.mpps or 0.0 for row in rows]
    return only(
        StageRow,
        endpoint=rows[0].endpoint,
        stage=rows[0].stage,
        mpps=ratio(sum(throughput), len(throughput)),
        work_ns=_mean([row.work_ns for row in rows], packets),
        stall_ns=_mean([row.stall_ns for row in rows], packets),
        stall=_joined_spread(rows, [row.stall for row in rows]),
        completion=_joined_spread(rows, [row.completion for row in rows]),
    )


def _joined_spread(rows: Sequence[StageRow], spreads: Sequence[Spread | None]) -> Spread | None:
    """The extremes of all; the mean weighted by batches, of which a window had packets x work / completion."""
    present = [spread for spread in spreads if spread]
    if not present:
        return None
    batches = [
        ratio((row.mpps or 0.0) * (row.work_ns or 0.0), row.completion.mean if row.completion else None) or 0.0
        for row in rows
    ]
    return Spread(
        minimum=min((spread.minimum for spread in present if spread.minimum is not None), default=None),
        mean=_mean([spread.mean if spread else None for spread in spreads], batches),
        p50=None,
        p99=None,
        maximum=max((spread.maximum for spread in present if spread.maximum is not None), default=None),
    )


def _mean(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
    weighted = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]
    return ratio(sum(value * weight for value, weight in weighted), sum(weight for _, weight in weighted))


def tables_of_run(run: "Run") -> list[Table]:
    """A table for each endpoint of a run, client first. Raises UserError if the run has no stages for it."""
    from windtunnel.runs.summary import summarise

    rows = summarise(run).stages
    sides = [side for side in TRAVEL if any(row.endpoint == side for row in rows)]
    if not sides:
        what = f"{run.path}: no stage of a client or a server was counted"
        raise UserError(what, remedy='a run at the accounting level "sampled" or above')
    return [_table(run, side, {row.stage: row for row in rows if row.endpoint == side}) for side in sides]


def _table(run: "Run", side: str, rows: dict[str, StageRow]) -> Table:
    cells = {name: _cells(rows.get(name), FILLED[name]) for name in _STAGES}
    end = _decimal(_value(run, side, END_TO_END))
    if end is None:
        end = cells["disp_rx" if side == "client" else "disp_tx"][0]
    interval = None if end is None else 1 / end if round(end, 3) else None
    return Table(side, {END_TO_END: (end, interval)} | cells, _decimal(_pool_in_use(run, side)))


def _cells(row: StageRow | None, filled: int) -> tuple[Value, ...]:
    if row is None or (row.mpps == 0 and row.work_ns is None and row.stall is None and row.completion is None):
        return _NOTHING_MOVED[:filled]
    whole = None if row.work_ns is None else row.work_ns + (row.stall_ns or 0.0)
    times = [whole, row.stall_ns]
    for spread in (row.stall, row.completion):
        times += [spread.maximum, spread.minimum, spread.mean] if spread else [None] * 3
    us = [None if (ns := _decimal(time)) is None else ns / _NS_PER_US for time in times]
    return (_decimal(row.mpps), *us)[:filled]


def _pool_in_use(run: "Run", side: str) -> float | None:
    """The share of the pool in use at the ends of windows; Axio reads it in every loop."""
    from windtunnel.runs.metrics import measured

    if run.record.imported:
        return _value(run, side, POOL)
    pools = [
        pool
        for windows in run.windows.values()
        for window in measured(windows)
        for pool in window.pools
        if pool.endpoint == side
    ]
    return ratio(sum(pool.size - pool.free for pool in pools), sum(pool.size for pool in pools))


def _value(run: "Run", side: str, name: str) -> float | None:
    values = run.record.imported.values if run.record.imported else []
    return next((value.value for value in values if (value.of, value.name) == (side, name)), None)


def _decimal(value: float | None) -> Value:
    return None if value is None else Decimal(repr(value))
