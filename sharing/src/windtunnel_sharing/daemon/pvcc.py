"""PvCC's text protocol, for its clients: `SET <vm> <weight>`, `END`, `EXIT`.

Responses are `OK` and `NG`, one line each, as in the original; a space and the reason follow NG. Clients of the original read at most
1024 bytes and look at the first two, or at nothing; one that compares the whole line sees that it is not OK. Differences from the
original: an unknown command is NG, EXIT is OK and leaves the server running, a weight need not be a power of two, and a refusal of the
system is NG.

The original has no line ends: a message is what one recv() returns, and its clients send none, a NUL, or any other. Here a message ends
with CR, LF and NUL in any number, with the connection, or after a time without another byte: QUIET_S, or CUT_S for a client that has sent
a line end, whose line may have been cut in two on its way.

A web page can make a browser connect to a port of this host and send what it likes in the body of a request. So a connection that sends
HTTP, or the TLS of https, is closed at once, and nothing of it is carried out.
"""

import asyncio
import ipaddress
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windtunnel.api.errors import UserError
from windtunnel.api.http import place_of
from windtunnel_sharing.daemon.allocation import Change, Sharing

MOST_LINE, MOST_PIECES = 256, 64
"""Bytes of a message, and pieces in which it arrives."""
MOST_READ, MOST_AT_ONCE = 4 << 10, 256
"""Bytes that are read, and lines that are carried out together, before other work of the daemon."""
QUIET_S, CUT_S, IDLE_S, SLOW_S = 0.001, 0.2, 60.0, 5.0
"""Times after which: a message without a line end is complete, of a client that has sent none before, and of another; an idle connection
is closed; a client that reads no responses is disconnected."""
_ENDS = re.compile(rb"[\r\n\0]+")
_FOREIGN = re.compile(rb"(GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH)[ \t]|.*HTTP/[0-9]|\x16\x03", re.DOTALL)
_SET = re.compile(r"SET(?:[ \t]+|(?=[0-9]))([A-Za-z0-9_][A-Za-z0-9_.-]{0,63})[ \t]+([+-]?[0-9]{1,12})[ \t]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Set:
    vm: str
    weight: int


class Wrong(Exception):
    """Not a message of this protocol, and why."""


class Foreign(Wrong):
    """A message of another protocol."""


def parse(line: str) -> Set | str:
    """A SET, "END" or "EXIT". Raises Wrong."""
    if match := _SET.fullmatch(line):
        return Set(match[1], int(match[2]))
    word = line.strip()
    if word in ("END", "EXIT"):
        return word
    if word.startswith("SET"):
        raise Wrong("a SET has a tenant and a whole number: SET 1 128")
    raise Wrong("unknown command; SET <tenant> <weight>, END, EXIT")


class Lines:
    """Bytes into messages. Holds MOST_LINE bytes of an unfinished one; raises Wrong for a longer one, or one in too many pieces, and Foreign."""

    def __init__(self) -> None:
        self._rest = b""
        self._pieces = 0
        self.lined = False
        """There has been a line end."""

    def feed(self, data: bytes) -> list[bytes]:
        *lines, self._rest = everything = _ENDS.split(self._rest + data)
        if any(_FOREIGN.match(line) for line in everything):
            raise Foreign("HTTP, or TLS")
        self._pieces = 0 if lines else self._pieces + 1
        if self._pieces > MOST_PIECES or any(len(line) > MOST_LINE for line in everything):
            raise Wrong(f"a line longer than {MOST_LINE} bytes, or in more than {MOST_PIECES} pieces")
        self.lined = self.lined or bool(lines)
        return [line for line in lines if line.strip()]

    def flush(self) -> list[bytes]:
        """What is left without a line end, if anything is."""
        rest, self._rest, self._pieces = self._rest, b"", 0
        return [rest] if rest.strip() else []

    @property
    def unfinished(self) -> bool:
        return bool(self._rest)


def response(sharing: Sharing, lines: Sequence[bytes], by: str) -> tuple[list[str], bool]:
    """The responses to messages that are carried out together, and whether the connection ends with them."""
    responses: list[str] = []
    granted: list[int] = []
    for raw in lines:
        try:
            asked = parse(raw.decode("ascii"))
            if isinstance(asked, Set):
                sharing.ask([Change(asked.vm, {"weight": asked.weight})], by)
                granted.append(len(responses))
            elif asked == "EXIT":
                sharing.exit(by)
                granted.append(len(responses))
            responses.append("OK")
        except UnicodeDecodeError:
            responses.append("NG not ASCII")
        except Wrong as wrong:
            responses.append(f"NG {wrong}")
        except UserError as error:
            responses.append(f"NG {error.message}")
        else:
            if isinstance(asked, str):
                return _settled(sharing, responses, granted), True
    return _settled(sharing, responses, granted), False


def _settled(sharing: Sharing, responses: list[str], granted: list[int]) -> list[str]:
    if granted:
        try:
            sharing.settle_soon()
        except UserError as error:
            for index in granted:
                responses[index] = f"NG {error.message}"
    return responses


class Pvcc(asyncio.BufferedProtocol):
    """One connection, which a ListeningSocket has accepted. `allowed` are the networks of TCP's clients; `foreign` is called where it sends
    another protocol."""

    def __init__(self, sharing: Sharing, allowed: Sequence[str], foreign: Callable[[], None]):
        self._sharing, self._foreign = sharing, foreign
        self._allowed = [ipaddress.ip_network(network) for network in allowed]
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray(MOST_READ)
        self._lines = Lines()
        self._waiting: list[bytes] = []
        self._heard = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._slow: asyncio.TimerHandle | None = None
        self._ended = False
        self._by = "pvcc"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        place_of(transport.get_extra_info("socket").fileno()).occupy(self._waits_since, self._transport.abort)
        peer = transport.get_extra_info("peername")
        if isinstance(peer, tuple) and not self._allows(peer[0]):  # a Unix socket's is a path, or nothing
            self._refuse("not from this address")
        else:
            self._idle = self._loop.call_later(IDLE_S, self._listen)

    def _waits_since(self) -> float | None:
        return None if self._waiting else self._heard

    def _allows(self, host: str) -> bool:
        self._by = f"pvcc {host}"
        address = ipaddress.ip_address(host.partition("%")[0])
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self._allowed)

    def get_buffer(self, sizehint: int) -> bytearray:
        """What asyncio would read at once is lines for a tenth of a second."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._ended:
            return
        try:
            self._waiting += self._lines.feed(bytes(self._buffer[:nbytes]))
        except Foreign:
            self._ended = True
            self._foreign()
            self._transport.abort()
            return
        except Wrong as wrong:
            self._refuse(str(wrong))
            return
        self._heard = self._loop.time()
        self._work()

    def eof_received(self) -> None:
        self._waiting += self._lines.flush()
        self._ended = True
        while self._waiting and not self._transport.is_closing():
            self._take()

    def connection_lost(self, error: Exception | None) -> None:
        self._ended = True
        for timer in (self._timer, self._idle, self._slow):
            if timer:
                timer.cancel()

    def pause_writing(self) -> None:
        """The client sends and does not read."""
        self._transport.pause_reading()
        self._slow = self._loop.call_later(SLOW_S, self._transport.abort)

    def resume_writing(self) -> None:
        if self._slow:
            self._slow.cancel()
            self._slow = None
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def _work(self) -> None:
        """Some lines; while more wait, nothing further is read."""
        if self._transport.is_closing():
            return
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            self._take()
        if self._waiting:
            self._transport.pause_reading()
            self._timer = self._loop.call_later(0, self._work)
        elif not self._transport.is_closing():
            if self._slow is None:
                self._transport.resume_reading()
            if self._lines.unfinished:
                self._timer = self._loop.call_later(CUT_S if self._lines.lined else QUIET_S, self._quiet)

    def _quiet(self) -> None:
        self._waiting += self._lines.flush()
        self._work()

    def _take(self) -> None:
        lines, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
        responses, ends = response(self._sharing, lines, self._by)
        self._transport.write("".join(f"{line}\n" for line in responses).encode("ascii", "replace"))
        if ends:
            self._waiting, self._ended = [], True
            self._transport.close()

    def _listen(self) -> None:
        """Closes where nothing was heard for IDLE_S. One timer, not one a message."""
        rest = self._heard + IDLE_S - self._loop.time()
        if rest > 0:
            self._idle = self._loop.call_later(rest, self._listen)
        else:
            self._transport.close()

    def _refuse(self, why: str) -> None:
        self._ended = True
        self._transport.write(f"NG {why}\n".encode())
        self._transport.close()
