"""Events of the daemon, and those who watch them."""

import asyncio

import pytest
from api_tools import KV, served
from pool_tools import Pools

from windtunnel.exchange import http_server as http
from windtunnel_sharing.daemon import access
from windtunnel_sharing.daemon import events as events_module
from windtunnel_sharing.daemon.events import KEPT, WAITING, Events
from windtunnel_sharing.daemon.keys import Serve


@pytest.mark.slow
def test_a_watcher_hears_and_one_that_does_not_read_is_dropped(monkeypatch):
    monkeypatch.setattr(http, "SLOW_S", 0.05)

    async def run():
        pools = Pools((0, 1, 2), **KV)
        async with served(pools) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /v1/watch HTTP/1.1\r\nHost: x\r\n\r\n")
            await reader.readuntil(b": windtunnel share\n\n")
            pools.events.publish("news", text="hello")
            heard = await reader.readuntil(b"hello")
            for _ in range(200):
                for n in range(WAITING // 2):
                    pools.events.publish("news", text="x" * 2000, n=n)
                await asyncio.sleep(0.01)
                if not pools.events._watchers:
                    break
            left = len(pools.events._watchers)
            writer.close()
            return heard, left

    heard, left = asyncio.run(run())
    assert b"event: news" in heard
    assert left == 0


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [False, True])
def test_the_holder_of_one_token_leaves_watches_for_the_others(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(events_module, "MOST_OF_ONE", 2)
    for name in ("admin", "read"):
        (tmp_path / name).write_text(name[0] * 40)
        (tmp_path / name).chmod(0o600)
    tokens = access.tokens_of(
        Serve.model_validate({"api": {"token_file": "admin", "read_token_file": "read"}}), tmp_path
    )

    async def begun(port, letter):
        """What a watch begins with, after its head."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /v1/watch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {letter * 40}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        return head.split()[1] + await reader.readuntil(b"}" if b" 503 " in head else b"\n\n"), writer

    async def run():
        async with served(Pools((0, 1, 2), **KV), tokens) as port:
            asked = [lambda letter=letter: begun(port, letter) for letter in "rrrra"]
            found = await asyncio.gather(*(ask() for ask in asked)) if at_once else [await ask() for ask in asked]
            for _, writer in found:
                writer.close()
            return [b": windtunnel share" in said for said, _ in found]

    heard = asyncio.run(run())
    assert sum(heard[:4]) == 2 and heard[4]


def test_events_are_bounded_and_a_slow_queue_ends():
    async def run():
        events = Events()
        with events.watch() as queue:
            for n in range(5000):
                events.publish("news", n=n)
            ended = [queue.get_nowait() for _ in range(queue.qsize())]
        return ended, len(events.since(0)), events.last

    assert asyncio.run(run()) == ([None], KEPT, 5000)


def test_who_comes_back_hears_what_it_missed():
    async def run():
        events = Events()
        for n in range(5):
            events.publish("news", n=n)
        with events.watch(since=3) as queue:
            return [queue.get_nowait()["n"] for _ in range(queue.qsize())]

    assert asyncio.run(run()) == [3, 4]
