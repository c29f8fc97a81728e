"""The HTTP server under the API, and its limits: a slow, silent or greedy client is disconnected and costs the others nothing.

uvicorn with h11 bounds a head that does not end. This module adds the other bounds: how long a head, a body or the reading of a response
may take, how much each may hold, and in how many pieces they may come. `connections` bounds the number of connections.
"""

import asyncio
import contextlib
import errno
import os
import re
import select
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from windtunnel.engine.own_directory import are_own
from windtunnel.engine.walked import read_beginning, walk
from windtunnel.errors import UserError, as_argument
from windtunnel.exchange.address import Address
from windtunnel.exchange.connections import BACKLOG, ListeningSocket, Place, place_of
from windtunnel.live import places
from windtunnel.runs.directories import Held
from windtunnel.text_file import open_regular

MOST_HEAD, MOST_BODY = 16 << 10, 1 << 20
"""Bytes."""
MOST_LINES, MOST_PIECES = 64, 32
"""Bounds of a head: its lines, and the pieces in which it arrives."""
PIECE = 1 << 10
"""Bytes for which a piece of a body counts at least: each piece costs about as much as that many."""
MOST_TLS_READ = 8 << 10
"""Bytes of TLS that are read before other work: asyncio's 256 KiB may be 11,000 records of one byte, which take a tenth of a second."""
HEAD_S, BODY_S, SLOW_S, KEEP_S = 10.0, 10.0, 5.0, 30
"""Time for a request's head, its body, a response that the client does not read, and between two requests."""
LEAST_TOKEN = 32
_TOKEN = re.compile(r"[!-~]+")
PEER = "windtunnel.peer"
"""Key in the state of a request over a Unix socket: the `Peer`, unless it ended at once or has no number here."""
PLACE = "windtunnel.place"
"""Key in the state of a request: the `Place` of its connection."""
_BLANK = re.compile(rb"\n\r?\n")
_CLOSE = (b"connection", b"close")
Refusal = tuple[int, str]
"""Status and message."""
Access = Callable[[Any], Refusal | None]
"""Takes the scope of a request; returns None if it is granted."""
MostBody = Callable[[Any], int]
"""Takes the scope of a request; returns the bytes that its body may have."""


class Taken(UserError):
    """Another process has the place of a socket."""


class Peer:
    """The process that has connected to a Unix socket, as the kernel knows it. Another process may hold the connection later."""

    def __init__(self, connected: socket.socket):
        """Raises OSError if the process has ended, or is in a pid namespace that is not seen here: its number is 0."""
        self.pid, _ = places.peer(connected)
        self._descriptor = os.pidfd_open(self.pid)

    def lives(self) -> bool:
        """Whether it still runs. If not, its number may be another process's by now."""
        watch = select.poll()
        watch.register(self._descriptor, select.POLLIN)
        return not watch.poll(0)

    def close(self) -> None:
        os.close(self._descriptor)


class Parser(h11.Connection):
    """h11's parser for requests, which checks a head before it is parsed."""

    def __init__(self, most_head: int):
        super().__init__(h11.SERVER, most_head)
        self._most_head = most_head
        self._pieces = 0
        self.refusal: Refusal = 400, "not HTTP"
        """The refusal of the request for which it raised an error."""
        self.is_ahead = False
        """Whether data came after a request and before its response."""

    def next_event(self) -> Any:
        """Raises h11.RemoteProtocolError."""
        if self.their_state is h11.IDLE:
            self._check_head()
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._pieces = 0
            if any(name == b"transfer-encoding" for name, _ in event.headers):
                self._refuse(411, "the length of a body must come before it: Content-Length")
        self.is_ahead = self.is_ahead or event is h11.PAUSED
        return event

    def _check_head(self) -> None:
        arrived, _ = self.trailing_data
        end = _BLANK.search(arrived)
        head = arrived[: end.start()] if end else arrived
        self._pieces += bool(arrived)
        if len(head) > self._most_head or head.count(b"\n") > MOST_LINES or self._pieces > MOST_PIECES:
            self._refuse(
                431, f"a head has at most {self._most_head} bytes, {MOST_LINES} lines and {MOST_PIECES} pieces"
            )

    def _refuse(self, status: int, why: str) -> None:
        self.refusal = status, why
        raise h11.RemoteProtocolError(why, error_status_hint=status)


class Guarded(H11Protocol):
    """uvicorn's protocol with timeouts for slow heads and slow readers. Each connection of a ListeningSocket has one."""

    _peer: Peer | None = None
    _head: asyncio.TimerHandle | None = None
    _slow: asyncio.TimerHandle | None = None
    _since = 0.0
    """When the connection began to wait for a head, by the loop's clock."""

    def __init__(self, *arguments: Any, most_head: int = MOST_HEAD, **named: Any):
        super().__init__(*arguments, **named)
        self.conn: Parser = Parser(most_head)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        connected = transport.get_extra_info("socket")
        self._expect_head()
        place = place_of(connected.fileno())
        place.occupy(lambda: self._since if self._waits() else None, self.transport.abort)
        self.app_state = {**self.app_state, PLACE: place}
        if connected.family == socket.AF_UNIX:
            with contextlib.suppress(OSError):
                self._peer = Peer(connected)
                self.app_state[PEER] = self._peer

    def _waits(self) -> bool:
        """Whether it waits for a request, or for the rest of its body."""
        return self.cycle is None or bool(self.cycle.response_complete or self.cycle.more_body)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._cancel_head()
        elif self._head is None:
            self._expect_head()

    def handle_events(self) -> None:
        """A client that sends a request before the previous response gets that response, and then the end: pipelining has no bound here."""
        super().handle_events()
        if self.conn.is_ahead and self.cycle is not None:
            self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        """Sends the refusal of a request that is malformed or too long."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()  # in the middle of another response
            return
        status, why = self.conn.refusal
        body = _error_body(why)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), _CLOSE]
        for event in (h11.Response(status_code=status, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head()
        self.resume_writing()
        if self._peer is not None:
            self._peer.close()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._slow = self.loop.call_later(SLOW_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None

    def _expect_head(self) -> None:
        self._since = self.loop.time()
        self._head = self.loop.call_later(HEAD_S, self.transport.abort)

    def _cancel_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


class Limits:
    """An ASGI application in front of another: it checks access, then passes the body in one piece. A refusal ends the connection."""

    def __init__(self, app: Any, access: Access = lambda scope: None, most_body: MostBody = lambda scope: MOST_BODY):
        self._app, self._access, self._most_body = app, access, most_body

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        place = _place_of(scope)
        if place is not None and (delay_s := place.delay_s()):
            await asyncio.sleep(delay_s)
        if (refusal := self._access(scope)) is not None:
            await _refuse(send, *refusal)
            return
        most = self._most_body(scope)
        body = None
        if all(_fits(value, most) for name, value in scope["headers"] if name == b"content-length"):
            body = await _body(receive, most)
        if body is None:
            await _refuse(send, 413, f"a body has at most {most} bytes, and {BODY_S:g} s")
            return
        if place is not None:
            place.has_been_granted = True
        await self._app(scope, _again(body, receive), send)


def prove(scope: Any) -> None:
    """Marks the client of a request as known, because it has shown a token: others do not take its places."""
    if (place := _place_of(scope)) is not None:
        place.prove()


def _place_of(scope: Any) -> Place | None:
    """The place of a request's connection; None: the application has no server."""
    place: Place | None = scope.get("state", {}).get(PLACE)
    return place


def _fits(length: bytes, most: int) -> bool:
    return length.isdigit() and len(length) <= 10 and int(length) <= most


async def _body(receive: Any, most: int) -> bytes | None:
    """The whole body; None if it is too long, comes in too many pieces, or takes too long."""
    parts: list[bytes] = []
    remaining = most + PIECE  # the last piece may be a small one
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                part = message.get("body", b"")
                parts.append(part)
                remaining -= max(PIECE, len(part))
                if remaining < 0:
                    return None
                if not message.get("more_body"):
                    return b"".join(parts)
    return None


def _again(body: bytes, receive: Any) -> Any:
    """A receive function that returns the body once, then the messages of the server, which report that the client has gone."""
    delivered = False

    async def again() -> Any:
        nonlocal delivered
        if delivered:
            return await receive()
        delivered = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _refuse(send: Any, status: int, why: str) -> None:
    body = _error_body(why)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), _CLOSE]
    headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _error_body(why: str) -> bytes:
    return f'{{"error": "{why}", "remedy": null}}'.encode()


class Server(uvicorn.Server):
    """A server that leaves signals alone: several share a loop, and another part of the process handles its signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def server(app: Any, tls: tuple[Path, Path] | None = None, most_head: int = MOST_HEAD) -> Server:
    """A server for `serve(sockets=[...])`, each a ListeningSocket. The application has `Limits`. `tls`: files of the certificate and its key."""
    SSLProtocol.max_size = MOST_TLS_READ
    config = uvicorn.Config(
        app,
        http=partial(Guarded, most_head=most_head),  # type: ignore[arg-type]
        backlog=BACKLOG,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_S,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=most_head,
        ssl_certfile=tls[0] if tls else None,
        ssl_keyfile=tls[1] if tls else None,
    )
    return Server(config)


@contextlib.contextmanager
def unix_socket(path: Path, mode: int = 0o600) -> Iterator[ListeningSocket]:
    """A Unix socket for its owner only, unless `mode` says otherwise. It replaces one on which no process listens, and is removed at the end. A
    user who may change the directory may put another file in its place: the socket is made and removed in the directory that was there at
    first, and only this socket is removed. Raises UserError, as `tcp_socket` does: Taken if another process has the place."""
    try:
        directory = Held(path.parent)
    except OSError as error:
        raise UserError(f"{path}: cannot listen there: {error.strerror}", remedy="set another `socket`") from None
    with (
        contextlib.closing(directory),
        contextlib.ExitStack() as stack,
        _bound(path, directory.place / path.name, mode) as listening,
    ):
        own = _identity(directory.place / path.name)
        # a server closes the socket, and another file may have its number then
        stack.enter_context(listening.held())
        try:
            yield listening
        finally:
            with contextlib.suppress(OSError):
                if _identity(directory.place / path.name) == own:
                    (directory.place / path.name).unlink()


def _bound(path: Path, place: Path, mode: int) -> ListeningSocket:
    """`place`: the path, through a descriptor of its directory, whose name another directory may take."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        places.remove_stale(place)
        before = os.umask(0o777 & ~mode)
        try:
            listening.bind(str(place))
        finally:
            os.umask(before)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        reason = (
            "another process listens there" if place.is_socket() else f"cannot listen there: {error.strerror or error}"
        )
        raise _error_of(error)(f"{path}: {reason}", remedy="set another `socket`") from None
    return ListeningSocket(listening, path=path)


def _identity(place: Path) -> tuple[int, int]:
    """Device and inode of a file; those of a socket are not reused as long as the socket is open."""
    status = place.lstat()
    return status.st_dev, status.st_ino


def tcp_socket(at: Address) -> ListeningSocket:
    """A listening socket; at the address :: also for IPv4. Raises UserError."""
    family = socket.AF_INET6 if ":" in at.host else socket.AF_INET
    try:
        listening = socket.create_server((at.host, at.port), family=family, dualstack_ipv6=at.host == "::")
    except OSError as error:
        message = f"{at}: cannot listen there: {os.strerror(error.errno or 0)}"
        raise _error_of(error)(message, remedy="set a free port of this host") from None
    return ListeningSocket(listening)


def _error_of(error: OSError) -> type[UserError]:
    return Taken if error.errno == errno.EADDRINUSE else UserError


def shown(listening: ListeningSocket) -> str:
    """The path, or the address and the port, on which a socket listens."""
    return str(listening.path or Address(*listening.getsockname()[:2]))


def token_of(path: Path) -> str:
    """The token in a file. Raises UserError if it is short, if others may read it, if it may be another user's, or if the file is not regular."""
    passed: list[os.stat_result] = []
    try:
        file = walk(path, passed, follow=True, goes_on=are_own)
        try:
            text = read_beginning(file, MOST_HEAD)
        finally:
            os.close(file)
    except OSError as error:
        if passed and not are_own(passed):
            raise _token_of_others(path) from None
        raise unreadable_token(path, error) from None
    token = token_in(path, text, passed[-1].st_mode)
    if not are_own(passed):
        raise _token_of_others(path)
    return token


def _token_of_others(path: Path) -> UserError:
    return UserError(
        f"{path}: other users may put a token of theirs there",
        remedy="name a file of yours, in directories that only you and root may write",
    )


def token_in(path: Path, text: str, mode: int) -> str:
    """The token in a file with that text and mode. Raises as `token_of`."""
    token = text.strip()
    if mode & 0o077:
        raise UserError(f"{path}: other users may read the token", remedy=f"chmod 600 {as_argument(path)}")
    if len(token) < LEAST_TOKEN or not _TOKEN.fullmatch(token):
        raise token_error(path, f"not a token of {LEAST_TOKEN} or more letters, digits and signs")
    return token


def unreadable_token(path: Path, error: OSError) -> UserError:
    """The error for a token file that cannot be read."""
    return token_error(path, f"the token cannot be read: {error.strerror}")


def token_error(path: Path, reason: str) -> UserError:
    """The error for an unfit token file."""
    return UserError(f"{path}: {reason}", remedy=f"openssl rand -hex 32 > {as_argument(path)}")


def check_tls(certificate: Path, key: Path) -> None:
    """Raises UserError for files that are not a certificate and its key."""
    try:
        for file in (certificate, key):
            os.close(open_regular(file))  # opening a FIFO would block
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key, password=lambda: "")
    except ssl.SSLError as error:
        raise UserError(
            f"{certificate} and {key}: not a certificate and its key: {error.reason or error}",
            remedy="PEM files, the key without a passphrase",
        ) from None
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}", remedy="name a file that is there") from None
