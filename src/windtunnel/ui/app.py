"""The pages: what runs now, its live parts as server-sent events, a stop."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib.resources import files

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse

from windtunnel.errors import UserError
from windtunnel.index.index import Index
from windtunnel.results.page.renderer import PACKAGE
from windtunnel.ui import history, runs
from windtunnel.ui.edit import routes
from windtunnel.ui.edit.below import Below
from windtunnel.ui.edit.start import Started
from windtunnel.ui.forms import said
from windtunnel.ui.templates import Pages, refused
from windtunnel.ui.watch import Watch
from windtunnel.ui.watched import WatchedProcess, WatchedRun

UPDATE_S = 0.2
"""Between two updates of a page; a window that ends is shown within this time."""
OF_PROCESS = {"far": "how_far.html", "fleet": "fleet.html", "tenants": "tenants.html"}
"""Parts of a process that are sent when they change."""
ASSETS = {
    "page.css": (PACKAGE, "page.css", "text/css"),
    "ui.css": ("windtunnel.ui", "assets/ui.css", "text/css"),
    "edit.js": ("windtunnel.ui", "assets/edit.js", "text/javascript"),
    "ui.js": ("windtunnel.ui", "assets/ui.js", "text/javascript"),
    "runs.js": ("windtunnel.ui", "assets/runs.js", "text/javascript"),
    "history.js": ("windtunnel.ui", "assets/history.js", "text/javascript"),
    "htmx.js": ("windtunnel.ui", "assets/htmx/htmx.min.js", "text/javascript"),
    "sse.js": ("windtunnel.ui", "assets/htmx/sse.min.js", "text/javascript"),
    "uplot.js": ("windtunnel.ui", "assets/uplot/uPlot.iife.min.js", "text/javascript"),
    "uplot.css": ("windtunnel.ui", "assets/uplot/uPlot.min.css", "text/css"),
}


@dataclass(frozen=True)
class Shown:
    """What the pages are about."""

    watch: Watch
    pages: Pages
    index: Index
    below: Below
    """The scenarios."""
    started: Started


def make(shown: Shown) -> FastAPI:
    """The application, without its guard."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    watch, pages = shown.watch, shown.pages
    runs.add_to(app, pages, shown.index)
    history.add_to(app, pages, shown.index)
    routes.add_to(app, routes.Editor(pages, shown.below, shown.index, shown.started))

    @app.exception_handler(OSError)
    async def gone(request: Request, error: OSError) -> Response:
        """A directory may be removed while one of its files is read."""
        words = UserError(f"not there any more, or not readable: {error.strerror or error}", "one of the list")
        return HTMLResponse(pages.filled("refused.html", page="runs", title="Not there", error=words), status_code=404)

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

    @app.post("/processes/{pid}/weight")
    async def weight(pid: int, request: Request) -> Response:
        fields = await said(request)
        try:
            wanted = int(fields.get("weight", ""))
            await watch.set_weight(pid, fields.get("tenant", ""), wanted)
        except ValueError:
            return PlainTextResponse("not a weight\n", status_code=422)
        except UserError as error:
            return refused(error, 409)
        return Response(status_code=204) if "hx-request" in request.headers else RedirectResponse("/", status_code=303)

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
            for part, template in OF_PROCESS.items():
                name, text = f"{part}-{process.pid}", pages.filled(template, process=process)
                if sent.get(name) != text:
                    sent[name] = text
                    yield _event(name, text)
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
    """Which processes, runs and tenants there are, and how they stand: what has forms and charts of its own on the page."""
    failed = [[each.file, each.words] for each in watch.started.failed]
    return json.dumps([failed, [_shape_of(process) for process in [*watch.processes.values(), *watch.ended]]])


def _shape_of(process: WatchedProcess) -> list[object]:
    runs = [(number, bool(run.ended)) for number, run in process.runs.items()]
    daemon_tenants = process.tenants
    tenants = daemon_tenants and [
        (tenant.name, tenant.weight, tenant.most, tenant.pid is None) for tenant in daemon_tenants.tenants
    ]
    return [process.pid, process.gone, process.stopping, process.trouble, runs, tenants]


def key_of(process: WatchedProcess, run: WatchedRun) -> str:
    """Of a run among all that are shown."""
    return f"{process.pid}-{run.number}"


def _event(name: str, text: str) -> str:
    return f"event: {name}\n" + "".join(f"data: {line}\n" for line in text.splitlines()) + "\n"
