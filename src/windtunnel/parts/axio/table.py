"""The table of Axio's log: its layout, reading it and printing it.

Times are microseconds with three digits, throughput is Mpps. Axio prints 0.000 if nothing moved and 9999.000 for a minimum
that was never seen. Here `nan` means not measured: it is no number, and a reader of floats accepts it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from windtunnel.exchange.source import Fault, Faults

COLUMNS = (
    "Thpl. (Mpps)",
    "Avg. [/P]",
    "Avg. Stall [/P]",
    "Max Stall. [/B]",
    "Min Stall. [/B]",
    "Avg Stall. [/B]",
    "Max Coml. [/B]",
    "Min Coml. [/B]",
    "Avg Coml. [/B]",
)
END_TO_END = "End-to-end"
FILLED = {END_TO_END: 2, "app_tx": 9, "app_rx": 9, "disp_tx": 3, "disp_rx": 3, "nic_tx": 2, "nic_rx": 2}
"""Row -> how many of the columns it has, in the order of the rows."""
NEVER_SEEN = Decimal(9999)

_WIDTH, _LAST_OF_NIC = 20, 15
_RULE = "-" * 207
_SHORTEST_RULE = "-" * 20
_STALL_OF_BATCH = COLUMNS.index("Avg Stall. [/B]")
_HEAD = re.compile(r"\s*D?Perf Statistics\b(.*)")
_NODE = re.compile(r"Node type: (client|server)\s*")
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?|-?nan|inf")

Value = Decimal | None


@dataclass(frozen=True)
class Table:
    """One table. `rows` holds the columns that a row has; None: not known. `pool_in_use` is in parentheses beside the stall of
    app_tx: share of the mbufs that were in use."""

    side: str | None
    rows: dict[str, tuple[Value, ...]]
    pool_in_use: Value
    line: int = 0

    def cell(self, row: str, column: str) -> Value:
        return self.rows[row][COLUMNS.index(column)]


def is_log(text: str) -> bool:
    return "Perf Statistics" in text


def tables_of(text: str) -> tuple[list[Table], list[Fault]]:
    """All tables of a log, and their faults; lines between tables are other messages of Axio."""
    tables: list[Table] = []
    faults = Faults()
    side = None
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if node := _NODE.fullmatch(line):
            side = node[1]
        if head := _HEAD.fullmatch(line):
            table, wrong = _table(lines, index, head[1], side)
            faults.extend(wrong)
            tables += [table] if table else []
    return tables, faults


def _table(lines: list[str], index: int, columns: str, side: str | None) -> tuple[Table | None, list[Fault]]:
    """The table whose head is in line `index`, counted from 0."""
    if columns.split() != " ".join(COLUMNS).split():
        return None, [Fault(index + 1, "the columns of the table differ", f"those of Axio's log: {', '.join(COLUMNS)}")]
    rows: dict[str, tuple[Value, ...]] = {}
    faults = Faults()
    in_use = None
    number = index + 1
    for number in range(index + 2, len(lines) + 1):  # no slice: a log of many heads would be copied for each
        line = lines[number - 1]
        name, *cells = line.replace(")", ") ").split() or [""]
        if line.startswith(
            _SHORTEST_RULE
        ):  # text may follow on the same line, as in the table that Axio's README shows
            if rows:
                break
        elif name not in FILLED:
            faults.append(Fault(number, f'"{name[:40]}" is not a row of the table', f"one of {', '.join(FILLED)}"))
            break
        elif name in rows:
            faults.append(Fault(number, f"the row {name} is given twice", "one row for each stage"))
        else:
            rows[name], in_use_here, wrong = _row(name, cells, number)
            in_use = in_use_here if name == "app_tx" else in_use
            faults.extend(wrong)
    missing = [name for name in FILLED if name not in rows]
    if missing and not faults:
        faults.append(
            Fault(number, f"the table that begins in line {index + 1} lacks {', '.join(missing)}", "a whole table")
        )
    return (None, faults) if faults else (Table(side, rows, in_use, index + 1), [])


def _row(name: str, cells: list[str], line: int) -> tuple[tuple[Value, ...], Value, list[Fault]]:
    """The values of a row, the value in parentheses, and the faults."""
    expected = FILLED[name]
    if len(cells) != expected:
        shape = f"{expected}: {', '.join(COLUMNS[:expected])}"
        return (), None, [Fault(line, f"the row {name} has {len(cells)} values", shape)]
    in_use = None
    if name == "app_tx":
        cells[_STALL_OF_BATCH], bracket, inside = cells[_STALL_OF_BATCH].partition("(")
        if not bracket or not _NUMBER.fullmatch(inside.removesuffix(")")) or not inside.endswith(")"):
            what = f"app_tx: {COLUMNS[_STALL_OF_BATCH]} has no share of the pool in parentheses"
            return (), None, [Fault(line, what, "as in 0.095814(0.279753)")]
        in_use = _value(inside.removesuffix(")"))
    faults = Faults()
    for column, cell in zip(COLUMNS, cells, strict=False):
        endless = cell == "inf" and (name, column) != (
            END_TO_END,
            "Avg. [/P]",
        )  # Axio divides by a throughput of zero there
        if not _NUMBER.fullmatch(cell) or endless:
            faults.append(
                Fault(
                    line,
                    f'{name}, {column}: "{cell[:40]}" is not a number',
                    "a number that is not negative, as in 0.021",
                )
            )
    return ((), None, faults) if faults else (tuple(map(_value, cells)), in_use, [])


def _value(cell: str) -> Value:
    value = Decimal(cell)
    return value if value.is_finite() else None


def text_of(tables: Sequence[Table]) -> str:
    """The tables as Axio prints them, each after the line that names its side."""
    return "\n".join(_lines_of(table) for table in tables)


def _lines_of(table: Table) -> str:
    head = "".join(f"{title:<{_WIDTH}}" for title in ("Perf Statistics", *COLUMNS))
    rows = [_line_of(table, name) for name in FILLED]
    node = [f"Node type: {table.side}"] if table.side else []
    return "\n".join([*node, _RULE, head, _RULE, *rows, _RULE, ""])


def _line_of(table: Table, name: str) -> str:
    cells = [_cell(value) for value in table.rows[name]]
    if name == "app_tx":
        stall = table.rows[name][_STALL_OF_BATCH]
        cells[_STALL_OF_BATCH] = f"{_cell(stall, 6)}({_cell(table.pool_in_use, 6)})"
    widths = [_WIDTH] * len(cells)
    if name.startswith("nic_"):
        widths[-1] = _LAST_OF_NIC
    # A value as wide as its column would run into the next one, as in Axio: nothing could read it back.
    return f"{name:<{_WIDTH}}" + "".join(f"{cell:<{width - 1}} " for cell, width in zip(cells, widths, strict=True))


def _cell(value: Value, digits: int = 3) -> str:
    return "nan" if value is None else f"{value:.{digits}f}"
