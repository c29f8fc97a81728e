"""The HTTP/JSON API; FastAPI describes it at /openapi.json, and /docs is a page of that.

Every handler is a coroutine without a wait between what it asks and what is carried out: requests do not overlap.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from functools import cache
from typing import Annotated, Any

from fastapi import FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, StreamingResponse
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from windtunnel.api.errors import UserError, __version__
from windtunnel.api.http import NOT_THIS_HOST, is_no_name
from windtunnel.api.settings import write
from windtunnel_sharing.daemon import build_bodies
from windtunnel_sharing.daemon.access import BATCH, HOLDER
from windtunnel_sharing.daemon.allocation import Change, Unknown
from windtunnel_sharing.daemon.api_page import page
from windtunnel_sharing.daemon.autoscale import weight_for
from windtunnel_sharing.daemon.bodies import (
    Addition,
    Batch,
    Fields,
    Planned,
    PoolsView,
    Refused,
    Report,
    Slicing,
    TenantView,
)
from windtunnel_sharing.daemon.core import Core
from windtunnel_sharing.daemon.events import Event, Events, shown
from windtunnel_sharing.daemon.keys import Autoscale, BadValue, TenantKeys
from windtunnel_sharing.daemon.metrics import Metrics

BEAT_S = 15.0
"""A watch without events says that it lives."""
DROPPED = "event: dropped\ndata: {}\n\n"
RENAMED = {"min": "least", "max": "most", "slo_p99_ns": "slo_ns"}
NEEDED = ("weight", "min", "pool")
"""Fields that have no null."""
REFUSED: Any = {
    401: {"model": Refused, "description": "Over TCP: without a token"},
    403: {"model": Refused, "description": "The token, or the process, may not do that"},
    404: {"model": Refused, "description": "No such tenant"},
    409: {"model": Refused, "description": "What is there now does not allow it: no room, or the kernel refuses"},
    413: {"model": Refused, "description": "The body is too long, or takes too long"},
    422: {"model": Refused, "description": "A value that cannot be"},
}
SECURITY: Any = {
    "token": {"type": "http", "scheme": "bearer", "description": "Over TCP. On the Unix socket its mode is the guard."}
}
MOST_FAULTS = 3
"""Of a body, told at once."""


def make(core: Core) -> FastAPI:
    """The application for one daemon."""
    app = FastAPI(
        title="windtunnel share",
        version=__version__,
        description="Many poll-mode tenants on few cores.",
        responses=REFUSED,
        openapi_url=None,
        docs_url=None,  # FastAPI's own load their scripts from a network
        redoc_url=None,
    )
    app.add_exception_handler(UserError, _refuse)
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(ValidationError, _misread)
    app.add_exception_handler(HTTPException, _no_route)
    _describing(app)
    _reading(app, core)
    _changing(app, core)
    _watching(app, core.sharing.events)
    return app


def make_metrics(metrics: Metrics) -> Any:
    """An application with the metrics alone, at every path, for whoever is on this host: they are made once an interval. It is on loopback."""

    async def latest(scope: Any, receive: Any, send: Any) -> None:
        response = PlainTextResponse(metrics.latest(), media_type=CONTENT_TYPE_LATEST)
        if not all(is_no_name(value.decode("latin-1")) for name, value in scope["headers"] if name == b"host"):
            response = PlainTextResponse(f"{NOT_THIS_HOST}\n", 403)
        await response(scope, receive, send)

    return latest


def _describing(app: FastAPI) -> None:
    """Both are made once, when they are asked for first."""

    @cache
    def described() -> bytes:
        found = app.openapi()
        found["components"]["securitySchemes"] = SECURITY
        found["security"] = [{name: []} for name in SECURITY] + [{}]  # or none
        return json.dumps(found).encode()

    @cache
    def shown() -> str:
        return page(json.loads(described()))

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return Response(described(), media_type="application/json")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(shown())


def _reading(app: FastAPI, core: Core) -> None:
    @app.get("/v1/tenants")
    async def tenants() -> list[TenantView]:
        """All tenants, in the order of their numbers."""
        return build_bodies.tenants(core.sharing)

    @app.get("/v1/tenants/{name}")
    async def tenant(name: str) -> TenantView:
        """One tenant, by its name or number."""
        return build_bodies.tenant(core.sharing, core.sharing.tenant(name))

    @app.get("/v1/pools")
    async def pools() -> PoolsView:
        """CPUs, weights and room of both pools."""
        return build_bodies.pools(core)

    @app.get("/v1/readings")
    async def readings() -> dict[int, Any]:
        """The reading of the slicer of each CPU of ls, over the last interval."""
        return {cpu: seen.model_dump() for cpu, seen in core.readings.items()}

    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> PlainTextResponse:
        """OpenMetrics."""
        return PlainTextResponse(core.metrics.text(), media_type=CONTENT_TYPE_LATEST)


def _changing(app: FastAPI, core: Core) -> None:
    sharing = core.sharing

    def change(changes: Iterable[tuple[str, Fields]], dry_run: bool) -> Planned:
        wanted = [_change(core, name, fields) for name, fields in changes]
        if dry_run:
            return build_bodies.planned(sharing.preview(wanted), len(wanted), True)
        sharing.ask(wanted, "http")
        sharing.settle()
        return build_bodies.planned(sharing.plan, len(wanted), False)

    @app.patch("/v1/tenants/{name}")
    async def change_one(name: str, fields: Fields, dry_run: bool = False) -> Planned:
        """Change a tenant. The change is carried out before the response."""
        return change([(name, fields)], dry_run)

    @app.post(BATCH)
    async def change_many(batch: Batch) -> Planned:
        """Change many tenants, all or none."""
        return change([(entry.tenant, entry) for entry in batch.changes], batch.dry_run)

    @app.post("/v1/tenants", status_code=201)
    async def add(addition: Addition, response: Response) -> TenantView:
        """Add a process. `Location` is the path of the tenant."""
        slo = addition.slo_p99_ns
        keys = addition.model_dump(exclude={"slo_p99_ns"}) | {"slo_p99": write("duration", slo) if slo else None}
        tenant = core.take_in(TenantKeys.model_validate(keys))
        response.headers["Location"] = app.url_path_for("tenant", name=tenant.name)
        return build_bodies.tenant(sharing, tenant)

    @app.delete("/v1/tenants/{name}", status_code=204)
    async def remove(name: str) -> None:
        """Remove a tenant, and restore its threads."""
        sharing.remove(sharing.tenant(name).name)
        sharing.settle()

    @app.patch("/v1/pools")
    async def reslice(slicing: Slicing) -> PoolsView:
        """Another slicer, or another slice, until the daemon ends."""
        core.reslice(slicing.slicer, slicing.slice_ns)
        return build_bodies.pools(core)

    @app.put("/v1/tenants/{name}/autoscale")
    async def autoscale(name: str, rule: Autoscale) -> TenantView:
        """The rule by which the reports of a tenant change its weight, until the daemon ends."""
        tenant = sharing.tenant(name)
        core.autoscale(tenant, rule)
        return build_bodies.tenant(sharing, tenant)

    @app.delete("/v1/tenants/{name}/autoscale")
    async def hold_weight(name: str) -> TenantView:
        """Reports no longer change the weight of a tenant."""
        tenant = sharing.tenant(name)
        core.autoscale(tenant, None)
        return build_bodies.tenant(sharing, tenant)

    @app.post("/v1/exit", status_code=204)
    async def exit_() -> None:
        """As PvCC's EXIT: weights as at the start, tenants in be, cores returned."""
        sharing.exit("http")
        sharing.settle()

    @app.post("/v1/tenants/{name}/report")
    async def report(name: str, seen: Report) -> TenantView:
        """A tenant reports; the response has the weight that the autoscaler chose."""
        tenant = sharing.tenant(name)
        core.report(tenant, seen)
        return build_bodies.tenant(sharing, tenant)


def _watching(app: FastAPI, events: Events) -> None:
    @app.get("/v1/events")
    async def latest(since: Annotated[int, Query(ge=0)] = 0) -> list[Event]:
        """The latest events after a number, as far as the daemon keeps them."""
        return events.since(since)

    @app.get("/v1/watch", response_class=StreamingResponse, response_model=None)
    async def watch(
        request: Request, last_event_id: Annotated[int | None, Header(ge=0)] = None
    ) -> StreamingResponse | JSONResponse:
        """Events as they happen (server-sent events). A slow client gets `dropped` and is disconnected."""
        holder = request.scope.get("state", {}).get(HOLDER)
        if events.full(holder):
            return JSONResponse({"error": "too many watch already", "remedy": None}, 503)
        stream = _stream(events, last_event_id, holder, request)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def _stream(events: Events, since: int | None, holder: int | None, request: Request) -> AsyncIterator[str]:
    if events.full(holder):  # others came at the same moment
        yield DROPPED
        return
    with events.watch(since, holder) as queue:
        yield ": windtunnel share\n\n"
        while not await request.is_disconnected():
            try:
                event = await asyncio.wait_for(queue.get(), BEAT_S)
            except TimeoutError:
                yield ": still here\n\n"
                continue
            if event is None:
                yield DROPPED
                return
            yield f"id: {event['id']}\nevent: {event['event']}\ndata: {json.dumps(event)}\n\n"


def _change(core: Core, name: str, fields: Fields) -> Change:
    """Raises BadValue for a null where none can be."""
    given = fields.model_fields_set - {"tenant"}
    values = {field: getattr(fields, field) for field in given}
    for field in NEEDED:
        if field in values and values[field] is None:
            raise BadValue(f"{field} cannot be null", remedy=f"leave {field} out to keep it")
    changes = {RENAMED.get(field, field): value for field, value in values.items()}
    if values.get("slo_p99_ns") and "weight" not in values:
        wish = core.sharing.tenant(name).wish
        least, most = changes.get("least", wish.least), changes.get("most", wish.most)
        wanted = max(least, weight_for(values["slo_p99_ns"], core.chosen.slice_ns))
        changes["weight"] = min(most, wanted) if most else wanted
    return Change(name, changes)


async def _refuse(_: Request, error: Exception) -> JSONResponse:
    body = {"error": shown(getattr(error, "message", str(error))), "remedy": shown(getattr(error, "remedy", None))}
    return JSONResponse(body, 404 if isinstance(error, Unknown) else 422 if isinstance(error, BadValue) else 409)


async def _no_route(request: Request, error: Exception) -> JSONResponse:
    """An unknown path, or a method that the path does not have."""
    assert isinstance(error, HTTPException)
    words = {404: f"no {request.scope['path']}", 405: f"no {request.method} of {request.scope['path']}"}
    body = {"error": words.get(error.status_code, error.detail), "remedy": "/docs and /openapi.json say what there is"}
    return JSONResponse(body, error.status_code, error.headers)


async def _misread(_: Request, error: Exception) -> JSONResponse:
    """As FastAPI's own, but what was sent is not in it: it may be anything, and no JSON."""
    assert isinstance(error, RequestValidationError | ValidationError)
    faults = [
        (".".join(map(str, fault["loc"])).removeprefix("body."), fault["msg"].removeprefix("Value error, "))
        for fault in error.errors()[:MOST_FAULTS]
    ]
    words = "; ".join(f"{where}: {fault}" if where else fault for where, fault in faults)
    return JSONResponse({"error": words, "remedy": "/docs and /openapi.json say what is taken"}, 422)
