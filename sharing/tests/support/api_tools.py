"""The HTTP API with pools that carry out nothing: without a socket, and on one."""

import asyncio
from contextlib import asynccontextmanager
from functools import cache
from types import SimpleNamespace

import httpx
from pool_tools import Pools, Turns

from windtunnel.exchange import http_server as http
from windtunnel.exchange.address import Address
from windtunnel_sharing.daemon import access, api
from windtunnel_sharing.daemon.core import Chosen, Core
from windtunnel_sharing.daemon.keys import Serve

KV = {"kv1": {"weight": 64, "slo_p99": "1ms"}, "kv2": {"weight": 64}}


def make_core(pools):
    carrier = SimpleNamespace(
        slicers={}, now=pools.carrier.now, reslice=lambda kind, slice_ns: pools.carrier.reslice(kind, slice_ns)
    )
    return Core(Serve(), pools, carrier, Chosen(Turns, 100_000), "none")


class Api:
    """The API without a socket."""

    def __init__(self, pools):
        self.pools, self._app, self.access = pools, api.make(make_core(pools)), lambda scope: None

    def ask(self, method, path, body=None, **how) -> httpx.Response:
        async def run():
            transport = httpx.ASGITransport(http.Limits(self._app, self.access, access.most_body))
            async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
                return await client.request(method, path, json=body, **how)

        return asyncio.run(run())

    def get(self, path):
        return self.ask("GET", path).json()


@cache
def one_daemon() -> Api:
    """For what changes nothing: it takes longer to make than to ask."""
    return Api(Pools((0, 1, 2), **KV))


def bearer(letter: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {letter * 40}"}


@asynccontextmanager
async def served(pools, allowed=lambda scope: None):
    """The real server on a loopback port."""
    with http.tcp_socket(Address("127.0.0.1", 0)) as listening:
        server = http.server(
            http.Limits(api.make(make_core(pools)), allowed, access.most_body), most_head=access.MOST_HEAD
        )
        task = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started:
            assert not task.done()
            await asyncio.sleep(0.001)
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await task


async def raw(port, *parts):
    """What comes back for some bytes, until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        return await asyncio.wait_for(reader.read(), 60)
    except ConnectionError:
        return b""
    finally:
        writer.close()


HEAD = b"GET /v1/pools HTTP/1.1\r\nHost: x\r\n"
