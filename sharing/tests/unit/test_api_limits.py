"""The HTTP API on a port: who is slow, greedy or many keeps nobody else out."""

import asyncio

import pytest
from api_tools import HEAD, KV, raw, served
from pool_tools import Pools

from windtunnel.exchange import connections
from windtunnel.exchange import http_server as http

POST = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "
REPORT, BATCH = (POST % path + b"%d\r\n\r\n" for path in (b"/v1/tenants/kv1/report", b"/v1/batch"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ([b"\x00\xff\r\n\r\n"], b"400"),
        ([HEAD + b"X: " + b"y" * (1 << 20) + b"\r\n\r\n"], b"431"),
        ([b"POST /v1/batch HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n"], b"413"),
        (
            [b"POST /v1/batch HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"]
            + [b"10000\r\n" + b"x" * 65536 + b"\r\n"] * 20,
            b"411",
        ),
        ([REPORT % 4097 + b'{"queue": 9' + b" " * 4085 + b"}"], b"413"),
        ([REPORT % 4096 + b'{"queue": 9' + b" " * 4084 + b"}"], b"200"),
        ([BATCH % 4097 + b'{"changes": [{"tenant": "kv1", "weight": 64}]' + b" " * 4051 + b"}"], b"200"),
        ([HEAD + b"X: " + b"y" * 8192 + b"\r\n\r\n"], b"431"),
        ([HEAD + b"Connection: close\r\n\r\n"], b"200"),
    ],
)
def test_hostile_requests_are_bounded(parts, status):
    async def run():
        async with served(Pools((0, 1, 2), **KV)) as port:
            said = await raw(port, *parts)
            assert (await raw(port, HEAD + b"Connection: close\r\n\r\n"))[9:12] == b"200"
            return said

    # Whoever sends more than is read may find the connection reset before it reads.
    said = asyncio.run(run())[9:12]
    assert said == status or (said == b"" and sum(map(len, parts)) > 1 << 19)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "sent", "status"),
    [
        ("HEAD_S", b"", b""),
        ("HEAD_S", HEAD, b""),
        ("BODY_S", b"POST /v1/batch HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{", b"413"),
    ],
    ids=["silent", "slow head", "slow body"],
)
def test_who_is_slow_is_cut_off(monkeypatch, limit, sent, status):
    monkeypatch.setattr(http, limit, 0.05)

    async def run():
        async with served(Pools((0, 1, 2), **KV)) as port:
            return await raw(port, sent)

    assert asyncio.run(run())[9:12] == status


@pytest.mark.slow
@pytest.mark.parametrize("sent", [b"", b"GET /v1/ten", HEAD + b"\r\n"], ids=["silent", "half a head", "idle"])
def test_one_connection_too_many_ends_the_one_that_waited_longest(monkeypatch, sent):
    """Who holds all of them without a request must not keep the owner out."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)

    async def run():
        async with served(Pools((0, 1, 2), **KV)) as port:
            held = []
            for _ in range(20):
                held.append(await asyncio.open_connection("127.0.0.1", port))
                held[-1][1].write(sent)
                if sent.endswith(b"\r\n\r\n"):
                    await held[-1][0].readuntil(b"\r\n\r\n")
            response = await raw(port, HEAD + b"Connection: close\r\n\r\n")
            ended = [await _ended(reader) for reader, _ in held]
            for _, writer in held:
                writer.close()
            return response, ended

    response, ended = asyncio.run(run())
    assert response.startswith(b"HTTP/1.1 200") and ended[0] and sum(ended) >= 17


async def _ended(reader) -> bool:
    """Whether the server has closed the connection: in a moment, or not."""
    try:
        async with asyncio.timeout(0.05):
            while await reader.read(4096):
                pass
            return True
    except TimeoutError:
        return False
    except ConnectionError:
        return True


@pytest.mark.slow
def test_where_all_connections_are_served_one_more_is_closed(monkeypatch):
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 2)

    async def run():
        async with served(Pools((0, 1, 2), **KV)) as port:
            watchers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
            for reader, writer in watchers:
                writer.write(b"GET /v1/watch HTTP/1.1\r\nHost: x\r\n\r\n")
                await reader.readuntil(b": windtunnel share\n\n")
            third = await raw(port, HEAD + b"\r\n")
            for _, writer in watchers:
                writer.close()
            return third

    assert asyncio.run(run()) == b""
