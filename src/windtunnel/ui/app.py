"""The pages: what runs now, its live parts as server-sent events, a stop."""

import json
from collections.abc import AsyncIterator
from importlib.resources import files

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse

from windtunnel.index.index import Index
from windtunnel.ui import history, runs
from windtunnel.ui.guard import Allowed
from windtunnel.ui.templates import Pages
from windtunnel.ui.watch import Watch
from windtunnel.ui.watched import WatchedProcess, WatchedRun
from windtunnel.views.pages.page import PAGES

UPDATE_S = 0.2
"""Between two updates of a page; a window that ends is shown within this time."""
ASSETS = {
    "page.css": (PAGES, "page.css", "text/css"),
    "ui.css": ("windtunnel.ui", "assets/ui.css", "text/css"),
    "ui.js": ("windtunnel.ui", "assets/ui.js", "text/javascript"),
    "history.js": ("windtunnel.ui", "assets/history.js", "text/javascript"),
    "htmx.js": ("windtunnel.ui", "assets/htmx/htmx.min.js", "text/javascript"),
    "sse.js": ("windtunnel.ui", "assets/htmx/sse.min.js", "text/javascript"),
    "uplot.js": ("windtunnel.ui", "assets/uplot/uPlot.iife.min.js", "text/javascript"),
    "uplot.css": ("windtunnel.ui", "assets/uplot/uPlot.min.css", "text/css"),
}


def make(watch: Watch, allowed: Allowed, index: Index) -> FastAPI:
    """The application, without its guard."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    pages = Pages(allowed)
    runs.add_to(app, pages, index)
    history.add_to(app, pages, index)

    @app.get("/")
    async def now() -> Response:
        return HTMLResponse(pages.filled("now.html", page="now", watch=watch))

    @app.get("/events")
    async def events() -> Response:
        return StreamingResponse(_events(watch, pages), media_type="text/event-stream")

    @app.post("/processes/{pid}/stop")
    async def stop(pid: int) -> Response:
        if not watch.stop(pid):
            return PlainTextResponse("no such process any more\n", status_code=404)
        return RedirectResponse("/", status_code=303)

    @app.get("/assets/{name}")
    async def asset(name: str) -> Response:
        if name not in ASSETS:
            return PlainTextResponse("not found\n", status_code=404)
        package, path, media = ASSETS[name]
        return Response((files(package) / path).read_bytes(), media_type=media)

    return app


async def _events(watch: Watch, pages: Pages) -> AsyncIterator[str]:
    """Parts of the page, each when it has changed: the list when a process or a run comes or goes, and the inside of each run."""
    sent: dict[str, str] = {}
    async for _ in watch.changes(UPDATE_S):
        if sent.get("list") != (shape := _shape(watch)):
            sent = {"list": shape}
            yield _event("processes", pages.filled("processes.html", watch=watch))
        for process in watch.processes.values():
            for run in process.runs.values():
                key = key_of(process, run)
                inside = {
                    f"live-{key}": pages.filled("live.html", process=process, run=run),
                    f"series-{key}": json.dumps(run.series.document()),
                }
                for name, text in inside.items():
                    if sent.get(name) != text:
                        sent[name] = text
                        yield _event(name, text)


def _shape(watch: Watch) -> str:
    """Which processes and runs there are, and how they stand."""
    return json.dumps(
        [
            [
                process.pid,
                process.gone,
                process.stopping,
                process.trouble,
                [(n, bool(r.ended)) for n, r in process.runs.items()],
            ]
            for process in [*watch.processes.values(), *watch.ended]
        ]
    )


def key_of(process: WatchedProcess, run: WatchedRun) -> str:
    """Of a run among all that are shown."""
    return f"{process.pid}-{run.number}"


def _event(name: str, text: str) -> str:
    return f"event: {name}\n" + "".join(f"data: {line}\n" for line in text.splitlines()) + "\n"
