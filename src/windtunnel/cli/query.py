"""windtunnel query: SQL over the results of studies."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from windtunnel.measure.study.query import Answer


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT over the view results.", show_default=False)],
    studies: Annotated[
        list[Path] | None,
        typer.Option("--study", metavar="DIR", help="A study; may be given often. Without it the latest below runs/."),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="CSV on stdout, with a line of names.")] = False,
    json: Annotated[bool, typer.Option("--json", help="A JSON list on stdout, one object a row.")] = False,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FILE", help="Write the answer to FILE, new.")
    ] = None,
) -> None:
    """Ask a study's table. `results` has one row a run and workload: docs/studies.md lists its columns.

    windtunnel query "from results"
    windtunnel query "select inflight, median(answered_per_s) from results where valid group by 1 order by 1"
    windtunnel query "select study, batch, median(p99) from results group by all" --study runs/a --study runs/b --csv
    """
    from windtunnel.errors import UserError
    from windtunnel.measure.study import query as queries
    from windtunnel.measure.study.directory import latest
    from windtunnel.runs.files import check_new
    from windtunnel.runs.latest import RUNS

    given = [name for name, asked in (("--csv", csv), ("--json", json), ("--parquet", parquet)) if asked]
    if len(given) > 1:
        raise UserError(f"{' and '.join(given)} exclude each other", remedy="give one of them")
    check_new(parquet)
    answer = queries.query(sql, studies or [latest(RUNS)])
    if csv:
        _print_csv(answer)
    elif json:
        from json import dumps

        print(dumps(answer.dicts(), indent=1, ensure_ascii=False, default=_plain))
    elif parquet:
        from windtunnel.measure.study.parquet import write

        write(parquet, list(zip(answer.columns, answer.types, strict=True)), answer.rows)
        print(parquet)
    else:
        _print(answer)


def _print_csv(answer: "Answer") -> None:
    import csv
    import sys

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(answer.columns)
    writer.writerows([_plain(cell) for cell in row] for row in answer.rows)


def _plain(value: Any) -> Any:
    """What CSV and JSON have no type for, as text: times, decimals, lists in CSV."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _print(answer: "Answer") -> None:
    from rich.console import Console

    from windtunnel.runs.columns import Column, Fitting

    columns = [
        Column(name, [_cell(row[n]) for row in answer.rows], words=answer.types[n] == "VARCHAR", spare=n)
        for n, name in enumerate(answer.columns)
    ]
    Console(highlight=False).print(Fitting(columns))
    print(f"{len(answer.rows)} row{'' if len(answer.rows) == 1 else 's'}")


def _cell(value: Any) -> str:
    from windtunnel.runs.format import DASH

    if value is None:
        return DASH
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return f"{value:,}" if type(value) is int else str(value)
