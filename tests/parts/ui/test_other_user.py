"""Another user of this host at the door of `windtunnel ui`: no request of theirs comes through, whatever their ports, even with the token.

What counts is what reached the pages: who closes at once reads no answer, and needs none.
"""

import asyncio
import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from other_users import python, user

from windtunnel.exchange import http_server
from windtunnel.exchange.address import Address
from windtunnel.parts.ui.guard import Allowed, Guard
from windtunnel.parts.ui.sign_in import SignIn

OTHER = 61_872
TRIES = [100, pytest.param(2000, marks=pytest.mark.long("hostile"))]
"""Of each source address; every third has the port of a connection that the owner holds, or has closed."""
ATTACK = """
import collections, json, socket, sys
tries, server, owned, sources = json.loads(sys.argv[1])
family = socket.AF_INET6 if ":" in server[0] else socket.AF_INET
host = f"[{server[0]}]" if family == socket.AF_INET6 else server[0]
request = f"GET /theirs HTTP/1.1\\r\\nHost: {host}:{server[1]}\\r\\n\\r\\n".encode()

def answer(source, closing):
    with socket.socket(family) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        client.settimeout(60)
        try:
            client.bind(source)
            client.connect(tuple(server))
            client.sendall(request)
            if closing == "half":
                client.shutdown(socket.SHUT_WR)
            return "" if closing == "whole" else client.recv(65536).split(b" ")[1].decode()
        except (OSError, IndexError) as error:  # the port is taken, or the connection closed without an answer
            return type(error).__name__

answers = collections.Counter()
for number in range(tries):
    for source in sources:
        closing = ("not", "half", "whole")[number // 3 % 3]
        answers[answer((source, owned[number % len(owned)]), closing)] += 1
print(json.dumps(answers))
"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user"),
]


class SignedIn(SignIn):
    """Everybody has the token, so that the kernel's word alone keeps them out."""

    def __init__(self) -> None:
        super().__init__("0123456789abcdef0123456789abcdef", lambda problem: problem, tls=False)

    def knows(self, scope: object) -> bool:
        return True


@contextmanager
def door(host: str) -> Iterator[tuple[tuple[str, int], list[str]]]:
    """Address and port of a guarded server in a thread, and the paths of the requests that came through."""
    reached: list[str] = []

    async def page(scope, receive, send):
        reached.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    with http_server.tcp_socket(Address(host, 0)) as listening:
        port = listening.getsockname()[1]
        allowed = Allowed("loopback", f"[{host}]" if ":" in host else host, port)
        server = http_server.server(Guard(page, allowed, SignedIn()))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
        thread.start()
        try:
            yield (host, port), reached
        finally:
            server.should_exit = True
            thread.join()


@pytest.mark.parametrize("tries", TRIES)
@pytest.mark.parametrize(
    ("host", "sources"), [("127.0.0.1", ["127.0.0.1", "127.0.0.2", "127.0.0.3"]), ("::1", ["::1"])]
)
def test_no_request_of_another_user_comes_through_whatever_its_ports(host, sources, tries):
    if python(OTHER) is None:
        pytest.skip("other users cannot run this Python")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with door(host) as (server, reached), socket.socket(family) as held, socket.socket(family) as closed:
        for each in (held, closed):
            each.connect(server)
        owned = [held.getsockname()[1], closed.getsockname()[1], 0]
        closed.close()
        about = json.dumps([tries, server, owned, sources])
        attack = subprocess.run(
            [python(OTHER), "-c", ATTACK, about], **user(OTHER), check=True, capture_output=True, text=True
        )
        statuses = json.loads(attack.stdout)
        assert reached == []
        assert statuses["403"] > 0 and set(statuses) <= {"403", "", "OSError", "IndexError", "ConnectionResetError"}
        place = f"[{host}]" if ":" in host else host
        assert httpx.get(f"http://{place}:{server[1]}/ours", timeout=60).status_code == 200
        assert reached == ["/ours"]
