"""The application of the pages: current runs, their live parts as server-sent events, and the stop of a run."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib.resources import files

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse

from windtunnel.errors import UserError
from windtunnel.index.index import Index
from windtunnel.parts.ui import history, runs
from windtunnel.parts.ui.edit import routes
from windtunnel.parts.ui.edit.scenario_directory import ScenarioDirectory
from windtunnel.parts.ui.edit.start import StartedRuns
from windtunnel.parts.ui.form_body import form_fields
from windtunnel.parts.ui.templates import Pages, refusal_response
from windtunnel.parts.ui.watch import Watch
from windtunnel.parts.ui.watched import WatchedProcess, WatchedRun
from windtunnel.results.page.renderer import PACKAGE

UPDATE_S = 0.2
"""Time between two updates of a page; a window is shown within this time after its end."""
OF_PROCESS = {"far": "command_progress.html", "status": "status.html", "tenants": "tenants.html"}
"""Parts of a process that are sent when they change."""
ASSETS = {
    "page.css": (PACKAGE, "page.css", "text/css"),
    "ui.css": ("windtunnel.parts.ui", "assets/ui.css", "text/css"),
    "edit.js": ("windtunnel.parts.ui", "assets/edit.js", "text/javascript"),
    "ui.js": ("windtunnel.parts.ui", "assets/ui.js", "text/javascript"),
    "runs.js": ("windtunnel.parts.ui", "assets/runs.js", "text/javascript"),
    "history.js": ("windtunnel.parts.ui", "assets/history.js", "text/javascript"),
    "htmx.js": ("windtunnel.parts.ui", "assets/htmx/htmx.min.js", "text/javascript"),
    "sse.js": ("windtunnel.parts.ui", "assets/htmx/sse.min.js", "text/javascript"),
    "uplot.js": ("windtunnel.parts.ui", "assets/uplot/uPlot.iife.min.js", "text/javascript"),
    "uplot.css": ("windtunnel.parts.ui", "assets/uplot/uPlot.min.css", "text/css"),
}


@dataclass(frozen=True)
class Context:
    """The objects that the pages show."""

    watch: Watch
    pages: Pages
    index: Index
    scenarios: ScenarioDirectory
    """The directory of the scenarios."""
    started: StartedRuns


def make(context: Context) -> FastAPI:
    """The application, without its guard."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    watch, pages = context.watch, context.pages
    runs.add_to(app, pages, context.index)
    history.add_to(app, pages, context.index)
    routes.add_to(app, routes.Editor(pages, context.scenarios, context.index, context.started))

    @app.exception_handler(OSError)
    async def gone(request: Request, error: OSError) -> Response:
        """A directory may be removed while one of its files is read."""
        user_error = UserError(f"not there any more, or not readable: {error.strerror or error}", "one of the list")
        return HTMLResponse(
            pages.filled("refused.html", page="runs", title="Not there", error=user_error), status_code=404
        )

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
        fields = await form_fields(request)
        try:
            new_weight = int(fields.get("weight", ""))
            await watch.set_weight(pid, fields.get("tenant", ""), new_weight)
        except ValueError:
            return PlainTextResponse("not a weight\n", status_code=422)
        except UserError as error:
            return refusal_response(error, 409)
        return Response(status_code=204) if "hx-request" in request.headers else RedirectResponse("/", status_code=303)

    @app.get("/assets/{name}")
    async def asset(name: str) -> Response:
        if name not in ASSETS:
            return PlainTextResponse("not found\n", status_code=404)
        package, path, media = ASSETS[name]
        return Response((files(package) / path).read_bytes(), media_type=media)

    return app


async def _events(watch: Watch, pages: Pages) -> AsyncIterator[str]:
    """Parts of the page, each if it has changed: the list if a process or a run begins or ends, and the content of each run."""
    sent_texts: dict[str, str] = {}
    async for _ in watch.changes(UPDATE_S):
        if sent_texts.get("list") != (shape := _shape(watch)):
            sent_texts = {"list": shape}
            yield _event("processes", pages.filled("processes.html", watch=watch))
        for process in watch.processes.values():
            for part, template in OF_PROCESS.items():
                name, text = f"{part}-{process.pid}", pages.filled(template, process=process)
                if sent_texts.get(name) != text:
                    sent_texts[name] = text
                    yield _event(name, text)
            for run in process.runs.values():
                key = key_of(process, run)
                inside = {
                    f"live-{key}": pages.filled("live.html", process=process, run=run),
                    f"series-{key}": json.dumps(run.series.document()),
                }
                for name, text in inside.items():
                    if sent_texts.get(name) != text:
                        sent_texts[name] = text
                        yield _event(name, text)


def _shape(watch: Watch) -> str:
    """The processes, runs and tenants and their states: all that has forms and charts of its own on the page."""
    failed = [[run.file, run.output] for run in watch.started.failed]
    return json.dumps([failed, [_shape_of(process) for process in [*watch.processes.values(), *watch.ended]]])


def _shape_of(process: WatchedProcess) -> list[object]:
    runs = [(number, bool(run.ended)) for number, run in process.runs.items()]
    daemon_tenants = process.tenants
    tenants = daemon_tenants and [
        (tenant.name, tenant.weight, tenant.most, tenant.pid is None) for tenant in daemon_tenants.tenants
    ]
    return [process.pid, process.gone, process.stopping, process.trouble, runs, tenants]


def key_of(process: WatchedProcess, run: WatchedRun) -> str:
    """The key of a run, unique on the page."""
    return f"{process.pid}-{run.number}"


def _event(name: str, text: str) -> str:
    return f"event: {name}\n" + "".join(f"data: {line}\n" for line in text.splitlines()) + "\n"
