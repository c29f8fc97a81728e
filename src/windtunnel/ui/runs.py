"""The page Runs: what lies below a directory, found and opened."""

import asyncio

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, PlainTextResponse, Response

from windtunnel.errors import UserError
from windtunnel.index.index import SHOWN, SORTS, Index, Row
from windtunnel.index.look import check_files
from windtunnel.ui.templates import Pages

REFRESH_S = 5.0
"""Between two looks at the directory."""
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; sandbox allow-scripts"
)
"""A report has its scripts in it. The sandbox takes our origin from it."""


def add_to(app: FastAPI, pages: Pages, index: Index) -> None:
    @app.get("/runs")
    def runs(q: str = "", sort: str = "date", order: str = "down") -> Response:
        sort = sort if sort in SORTS else "date"
        problem, count = None, 0
        rows: list[Row] = []
        try:
            count, rows = index.find(q, sort, order != "up")
        except UserError as error:
            problem = f"{error.message}: {error.remedy}"
        found = {"q": q, "sort": sort, "order": order, "count": count, "rows": rows, "problem": problem}
        return HTMLResponse(pages.filled("runs.html", page="runs", index=index, shown=SHOWN, sorts=SORTS, **found))

    @app.get("/report")
    def report(path: str) -> Response:
        from windtunnel.runs import load
        from windtunnel.views.pages.page import render

        directory = index.run_directory(path)
        if directory is None:
            return PlainTextResponse("no such run\n", status_code=404)
        try:
            check_files(directory)
            html = render(load(directory))
        except UserError as error:
            return PlainTextResponse(f"{error.message}\n", status_code=404)
        return HTMLResponse(html, headers={"content-security-policy": REPORT_POLICY})


async def keep_fresh(index: Index) -> None:
    """In a thread: reading a run takes some 40 ms."""
    while True:
        await asyncio.to_thread(index.refresh)
        await asyncio.sleep(REFRESH_S)
