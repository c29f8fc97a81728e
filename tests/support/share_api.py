"""The API of a share daemon with one tenant, for the tests of its readers."""

import asyncio
import threading
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from windtunnel.exchange import http_server

POOLS = {"ls": [1], "be": [0], "slicer": "kicker", "slice_ns": 100_000, "weight": 128, "room": 128, "more": "unknown"}
WEB = {
    "name": "web",
    "number": 1,
    "pool": "ls",
    "parked": False,
    "pid": 4711,
    "threads": [4711, 4712],
    "weight": 128,
    "min": 1,
    "max": None,
    "slo_p99_ns": 40_000,
    "cpus": [1],
    "entitled": 0.5,
    "autoscaled": False,
    "told": {"p99_ns": 52_000},
}


@contextmanager
def daemon(path, pools=POOLS):
    """The API of a daemon with one tenant. Gives what it was asked to change."""
    asked: list[dict] = []
    app = FastAPI()

    @app.get("/v1/pools")
    def _pools() -> Response:
        return JSONResponse(pools)

    @app.get("/v1/tenants")
    def _tenants() -> Response:
        return JSONResponse([WEB])

    @app.patch("/v1/tenants/{name}")
    async def _change(name: str, request: Request) -> Response:
        body = await request.json()
        asked.append({name: body})
        if body["weight"] > 256:
            return JSONResponse({"error": "no room for 300", "remedy": "256 or less"}, 409)
        return JSONResponse({})

    with http_server.unix_socket(path) as listening:
        server: uvicorn.Server = http_server.server(http_server.Limits(app))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
        thread.start()
        yield asked
        server.should_exit = True
        thread.join()
