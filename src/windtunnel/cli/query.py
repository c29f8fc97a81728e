"""windtunnel study query: SQL over the results of studies."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windtunnel.cli import completion
from windtunnel.cli.shared_options import Format
from windtunnel.printing import print_file, print_values

if TYPE_CHECKING:
    from windtunnel.measure.study.query import Response
    from windtunnel.results.document import Document


def query(
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="One SELECT statement over the view results.", show_default=False)
    ],
    studies: Annotated[
        list[Path] | None,
        typer.Option(
            "--study",
            metavar="DIR",
            help="Directory of a study. Repeatable.",
            show_default="the latest study in runs/",
            autocompletion=completion.study_directories,
        ),
    ] = None,
    csv: Annotated[
        bool,
        typer.Option(
            "--csv",
            help="Print CSV with a header line. Off a terminal values are exact, for programs: a spreadsheet runs a text that begins with =.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list with one object per row.")] = False,
    format_: Format = "text",
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FILE", help="Write the rows to FILE, which must be new.")
    ] = None,
) -> None:
    """Query the results of studies in SQL.

    The view "results" has one row for each run and workload. "from results" shows its columns.

    windtunnel study query "from results"
    windtunnel study query "select inflight, median(responses_per_s) from results where valid group by 1 order by 1"
    windtunnel study query "select study, batch, median(p99) from results group by all" --study runs/a --study runs/b
    """
    from windtunnel.errors import UserError
    from windtunnel.measure.study import query as queries
    from windtunnel.measure.study.directory import latest
    from windtunnel.runs.files import check_new
    from windtunnel.runs.latest import RUNS

    formats = [name for name, requested in (("--csv", csv), ("--json", json), ("--parquet", parquet)) if requested]
    if len(formats) > 1:
        raise UserError(f"{' and '.join(formats)} exclude each other", remedy="give one of them")
    check_new(parquet)
    directories = studies or [latest(RUNS)]
    response = queries.query(sql, directories)
    if csv:
        _print_csv(response)
    elif json:
        from json import dumps, loads

        from windtunnel.measure.study.sql import keys_as_text

        # JSON has no NaN and no infinity: they are null, as a value that was not measured
        rows = loads(dumps(keys_as_text(response.dicts()), default=_plain), parse_constant=lambda _: None)
        print(dumps(rows, indent=1, ensure_ascii=False))
    elif parquet:
        from windtunnel.measure.study.sql import write_parquet

        write_parquet(parquet, list(zip(response.columns, response.types, strict=True)), response.rows)
        print_values(parquet)
    else:
        from windtunnel.results.show import show

        show(_document(response, directories))


def _print_csv(response: "Response") -> None:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(response.columns)
    writer.writerows([_plain(cell) for cell in row] for row in response.rows)
    print_file(text.getvalue())


def _plain(value: Any) -> Any:
    """A value for which CSV or JSON has no type as text: times, decimals, lists in CSV."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _document(response: "Response", studies: list[Path]) -> "Document":
    from windtunnel.results.document import Column, Document, Sentence, Table

    columns = [
        Column(name, [_cell(row[n]) for row in response.rows], words=response.types[n] == "VARCHAR", spare=n)
        for n, name in enumerate(response.columns)
    ]
    count = len(response.rows)
    return Document(
        kind="query",
        title=f"Results of {', '.join(map(str, studies))}",
        blocks=[Table(columns)],
        verdict=Sentence(f"{count} row{'' if count == 1 else 's'}"),
    )


def _cell(value: Any) -> str:
    from windtunnel.format import DASH

    if value is None:
        return DASH
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return f"{value:,}" if type(value) is int else str(value)
