"""The page Runs: search, reports, comparison, tags and notes of the runs below a directory."""

import asyncio
import sys
from pathlib import Path
from urllib.parse import urlencode

from fastapi import FastAPI, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from windtunnel.errors import UserError
from windtunnel.index import notes
from windtunnel.index.index import SHOWN, SORTS, Index, Row
from windtunnel.index.untrusted import check_files
from windtunnel.parts.ui.form_body import form_fields
from windtunnel.parts.ui.templates import Pages, refusal_response
from windtunnel.printing import print_line

ORDERS = {
    "date": ("newest first", "oldest first"),
    **dict.fromkeys(("title", "host", "verdict"), ("Z to A", "A to Z")),
    **dict.fromkeys(("rate", "p50", "p99"), ("highest first", "lowest first")),
}
"""The page's names of the descending and the ascending order of each of SORTS."""
REFRESH_S = 5.0
"""Time between two refreshes of the index."""
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; sandbox allow-scripts"
)
"""A report has inline scripts. The sandbox gives it an origin of its own."""


def add_to(app: FastAPI, pages: Pages, index: Index) -> None:
    @app.get("/runs")
    def runs(q: str = "", sort: str = "date", order: str = "down") -> Response:
        sort = sort if sort in SORTS else "date"
        order = "up" if order == "up" else "down"
        problem, count = None, 0
        rows: list[Row] = []
        try:
            count, rows = index.find(q, sort, order == "down")
        except UserError as error:
            problem = f"{error.message}: {error.remedy}"
        results = {"q": q, "sort": sort, "order": order, "count": count, "rows": rows, "problem": problem}
        orders = {"sorts": SORTS, "orders": ORDERS}
        return HTMLResponse(pages.filled("runs.html", page="runs", index=index, shown=SHOWN, **orders, **results))

    @app.get("/report")
    def report(path: str) -> Response:
        from windtunnel.measure.earlier import earlier
        from windtunnel.results.page.renderer import render
        from windtunnel.results.run.document import run_document
        from windtunnel.runs import load

        try:
            run = load(_directory(index, path))
            html = render(run_document(run, earlier(run)))
        except UserError as error:
            return refusal_response(error, 404)
        return HTMLResponse(html, headers={"content-security-policy": REPORT_POLICY})

    @app.get("/compare")
    def compare(run: list[str] = Query(default=[])) -> Response:  # noqa: B008 - FastAPI's way to say so
        from windtunnel.measure.compare.compared import Running
        from windtunnel.measure.compare.compared import compare as compared
        from windtunnel.results.comparison import comparison_document
        from windtunnel.results.page.renderer import render

        try:
            if len(run) != 2 or run[0] == run[1]:
                raise UserError("not two runs", remedy="tick two runs of the list")
            a, b = (_directory(index, path) for path in run)
            html = render(comparison_document(compared(a, b, Running(), force=True)[0]))
        except UserError as error:
            return HTMLResponse(pages.filled("refused.html", page="runs", title="Not compared", error=error))
        return HTMLResponse(html, headers={"content-security-policy": REPORT_POLICY})

    @app.get("/notes")
    def read_notes(path: str, back: str = "") -> Response:
        try:
            run_notes = notes.read(_directory(index, path))
        except UserError as error:
            return HTMLResponse(pages.filled("refused.html", page="runs", title="No notes", error=error))
        values = {"path": path, "tags": " ".join(run_notes.tags), "note": run_notes.note, "back": back, "problem": None}
        return HTMLResponse(pages.filled("notes.html", page="runs", **values))

    @app.post("/notes")
    async def write_notes(request: Request) -> Response:
        return await run_in_threadpool(_write_notes, await form_fields(request), pages, index)


def _write_notes(fields: dict[str, str], pages: Pages, index: Index) -> Response:
    path, tags, note, back = (fields.get(name, "") for name in ("path", "tags", "note", "back"))
    try:
        notes.write(_directory(index, path), tags, note)
    except UserError as error:
        values = {"path": path, "tags": tags, "note": note, "back": back, "problem": error}
        return HTMLResponse(pages.filled("notes.html", page="runs", **values))
    index.take(path)
    return RedirectResponse(f"/runs?{urlencode({'q': back})}" if back else "/runs", status_code=303)


def _directory(index: Index, path: str) -> Path:
    """The directory of an indexed run. Raises UserError for any other, and for one with links, FIFOs or too large files."""
    directory = index.run_directory(path)
    if directory is None:
        raise UserError("no such run", remedy="one of the list")
    check_files(directory)
    return directory


async def keep_fresh(index: Index) -> None:
    """Refreshes the index in a thread, because reading a run takes some 40 ms. A failure is printed once, and the refresh is tried again."""
    reported = ""
    while True:
        try:
            await asyncio.to_thread(index.refresh)
            reported = ""
        except Exception as error:  # noqa: BLE001 - the page would become stale without notice
            if (problem := f"the list of runs is not up to date: {type(error).__name__}: {error}") != reported:
                reported = problem
                print_line(reported, to=sys.stderr)
        await asyncio.sleep(REFRESH_S)
