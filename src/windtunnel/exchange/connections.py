"""Limits how many connections of one listening socket a client may hold, and how much time those take that have no right to any. Its user is read
from the kernel before it takes a place.

The owner of the process and root always get a place. So does a known client, which has shown a token or is expected. Each user of this host
and each address of another host has a bound, and a rate at which it may connect and ask. If no place is free, the client with the most
connections loses the one for which the process has waited the longest.
"""

import asyncio
import contextlib
import ipaddress
import os
import select
import socket
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, ClassVar, Self

from windtunnel.exchange import connection_users
from windtunnel.live import places as live_places

MOST_CONNECTIONS = 64
"""Bound of one listening socket."""
AT_ONCE = 16
"""Connections that are taken or refused before other work of the process."""
BACKLOG = 512
"""Connections that the kernel keeps until then. A client that finds the queue full has to try again, the owner too."""
PATIENCE_S = 1.0
"""A connection that makes room for an equal one is at least this old: a client that reconnects in a loop would otherwise evict all the time."""
MOST_AT_FIRST = 64
"""Connections of one name that is not the owner's, and requests: at once. From then on they have a rate."""
MOST_A_SECOND, MOST_OF_KNOWN_A_SECOND, MOST_REQUESTS_A_SECOND = 16, 100, 100
"""Connections of one name that is not known, of one that is, and requests of either. Each takes a third of a millisecond or more, a refusal too."""
REST = 4
"""Times as long as connections without a place took, until the next one is looked at: they are closed unread, and the process may be real-time."""
MOST_KNOWN = 64
"""Names that are kept as known: the ones that showed a token last."""
MOST_NAMES = 1024
"""Names whose rates are kept: the ones that came last."""
LOOPBACK = "loopback"
"""Name of all clients on this host that the kernel does not know: they can choose any number of addresses."""


class Rank(IntEnum):
    """A connection of a lower rank makes room for one of a higher rank."""

    OTHER = 0
    KNOWN = 1
    OWN = 2


@dataclass(frozen=True, slots=True)
class Client:
    """The other end of a connection."""

    uid: int | None
    """Its user, if it is on this host."""
    pid: int | None = None
    """The process that made it, if it uses a Unix socket."""
    address: str = ""

    @classmethod
    def from_socket(cls, connected: socket.socket, address: Any) -> Self:
        if connected.family == socket.AF_UNIX:
            pid, uid = live_places.peer(connected)
            return cls(uid, pid)
        with contextlib.suppress(OSError):  # it has ended
            return cls(connection_users.user(address, connected.getsockname()), None, address[0])
        return cls(None, None, address[0])


@dataclass(frozen=True, slots=True)
class Holder:
    """The owner of connections: all connections of one name share a bound."""

    name: Hashable
    rank: Rank


HolderOf = Callable[[Client], Holder]


def holder_of(client: Client) -> Holder:
    """The holder of a connection, by user or address: this user and root are the owner."""
    if client.uid is not None:
        return Holder(client.uid, Rank.OWN if live_places.may_meet(client.uid) else Rank.OTHER)
    return Holder(_network(client.address), Rank.OTHER)


def _network(address: str) -> str:
    """An IPv4 address, or an IPv6 network in which one host may have every address."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    ip = getattr(ip, "ipv4_mapped", None) or ip
    if ip.is_loopback:
        return LOOPBACK
    return str(ip) if ip.version == 4 else str(ipaddress.ip_network((ip, 64), strict=False))


class Place:
    """The place of one connection. Its protocol, once there is one, reports since when it waits for the client, and how it ends at once."""

    def __init__(self, connected: socket.socket, holder: Holder, places: "Places"):
        self._connected, self.holder, self._places = connected, holder, places
        self.has_been_granted = False
        """Whether a request of it was granted: connections without a granted request are ended first."""
        accepted = time.monotonic()
        self.waits_since: Callable[[], float | None] = lambda: accepted
        """By the monotonic clock; None: the client waits for us."""
        self.end: Callable[[], None] = self._shut_down

    @property
    def is_held(self) -> bool:
        return self._connected.fileno() >= 0

    def occupy(self, waits_since: Callable[[], float | None], end: Callable[[], None]) -> None:
        self.waits_since, self.end = waits_since, end

    def prove(self) -> None:
        """Marks the client as known, because it has shown a token."""
        self.holder = self._places.know(self.holder)

    def delay_s(self) -> float:
        """Counts a request, and returns for how many seconds it is to wait: those of one holder have a rate, unless it is the owner."""
        return self._places.delay_s(self.holder)

    def _shut_down(self) -> None:
        with contextlib.suppress(OSError):
            self._connected.shutdown(socket.SHUT_RDWR)  # the reader gets the end of the stream, and closes it


class _Buckets:
    """Token buckets, one for each name: MOST_AT_FIRST tokens at first, and so many more a second."""

    def __init__(self) -> None:
        self._buckets: dict[Hashable, tuple[float, float]] = {}
        """The latest last: the tokens, and when there were so many, by the monotonic clock. Below 0: they are owed."""

    def take(self, name: Hashable, a_second: float, on_credit: bool = False) -> float:
        """Takes a token, if there is one or `on_credit`. Returns the seconds until it is there, 0 if it is."""
        now = time.monotonic()
        left, at = self._buckets.pop(name, (MOST_AT_FIRST, now))
        left = min(MOST_AT_FIRST, left + (now - at) * a_second)
        wait_s = max(0.0, (1 - left) / a_second)
        self._buckets[name] = (left if wait_s and not on_credit else left - 1, now)
        if len(self._buckets) > MOST_NAMES:
            del self._buckets[next(iter(self._buckets))]
        return wait_s


class Places:
    """The places of one listening socket. `holder_of` may be replaced."""

    def __init__(self, most: int, holder_of: HolderOf = holder_of):
        self.holder_of = holder_of
        self._most = most
        self._together = {Rank.OTHER: most * 3 // 4, Rank.KNOWN: most * 7 // 8, Rank.OWN: most}
        """Places that a rank may have together with the ranks below it."""
        self._most_of_name = max(1, most // 4)
        """Bound of one name, unless it is the owner's."""
        self._occupied: list[Place] = []
        self._known: dict[Hashable, None] = {}
        """The names that are known, the latest last."""
        self._connections, self._requests = _Buckets(), _Buckets()

    def take(self, connected: socket.socket, address: Any) -> Place | None:
        """Takes a place for a connection; None: its holder gets none."""
        holder = self.holder_of(Client.from_socket(connected, address))
        if holder.rank < Rank.KNOWN and holder.name in self._known:
            holder = Holder(holder.name, Rank.KNOWN)
        if not self._may_connect(holder):
            return None
        self._occupied = [place for place in self._occupied if place.is_held]
        if not self._has_room(holder) and not self._make_room(holder):
            return None
        place = Place(connected, holder, self)
        self._occupied.append(place)
        return place

    def know(self, holder: Holder) -> Holder:
        if holder.rank > Rank.OTHER:
            return holder
        self._known.pop(holder.name, None)
        self._known[holder.name] = None
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return Holder(holder.name, Rank.KNOWN)

    def delay_s(self, holder: Holder) -> float:
        """As `Place.delay_s`. A client waits for its response, so what its connections owe is as bounded as they are."""
        return (
            0.0 if holder.rank == Rank.OWN else self._requests.take(holder.name, MOST_REQUESTS_A_SECOND, on_credit=True)
        )

    def _may_connect(self, holder: Holder) -> bool:
        a_second = MOST_OF_KNOWN_A_SECOND if holder.rank == Rank.KNOWN else MOST_A_SECOND
        return holder.rank == Rank.OWN or not self._connections.take(holder.name, a_second)

    def _has_room(self, holder: Holder) -> bool:
        together = sum(place.holder.rank <= holder.rank for place in self._occupied)
        return (
            self._may_have_more(holder) and together < self._together[holder.rank] and len(self._occupied) < self._most
        )

    def _may_have_more(self, holder: Holder) -> bool:
        own = sum(place.holder.name == holder.name for place in self._occupied)
        return holder.rank == Rank.OWN or own < self._most_of_name

    def _make_room(self, holder: Holder) -> bool:
        """Ends a connection, chosen by lowest rank, then by the holder with the most connections, then without a granted request, then by the
        longest wait. In the same rank only a holder with more connections than the new one's makes room, and only after PATIENCE_S
        unless the rank is the owner's."""
        counts = Counter(place.holder.name for place in self._occupied)
        has_all = not self._may_have_more(holder)
        equals_until = time.monotonic() - (0 if holder.rank == Rank.OWN else PATIENCE_S)

        def makes_room(place: Place, since: float) -> bool:
            name, rank = place.holder.name, place.holder.rank
            if rank < holder.rank and not has_all:
                return True
            is_equal = name == holder.name or (
                not has_all and rank == holder.rank and counts[name] > counts[holder.name]
            )
            return is_equal and since <= equals_until

        waiting = [
            (place.holder.rank, -counts[place.holder.name], place.has_been_granted, since, number)
            for number, place in enumerate(self._occupied)
            if (since := place.waits_since()) is not None and makes_room(place, since)
        ]
        if not waiting:
            return False
        self._occupied.pop(min(waiting)[-1]).end()
        return True


class ListeningSocket(socket.socket):
    """Accepts connections that get a place; others are closed unread. It never waits: its caller polls it, and in an event loop it rests after those.
    Its descriptor is that of an epoll, which reports nothing meanwhile."""

    _arrived: ClassVar[dict[int, Place]] = {}
    """By descriptor: places of connections that have no protocol yet, also those whose handshake of TLS goes on or has failed."""

    def __init__(self, listening: socket.socket, most: int | None = None, path: Path | None = None):
        """`path`: that of a Unix socket."""
        super().__init__(fileno=listening.detach())
        self.setblocking(False)
        self.places = Places(MOST_CONNECTIONS if most is None else most)
        self.path = path
        self._looked_at = 0
        self._for_nothing_s = 0.0
        self._polled = select.epoll()
        self._polled.register(super().fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        return -1 if self._polled.closed else self._polled.fileno()

    def held(self) -> socket.socket:
        """Another socket of the same descriptor, which keeps its inode."""
        return socket.socket(fileno=os.dup(super().fileno()))

    def close(self) -> None:
        self._polled.close()
        super().close()

    def accept(self) -> tuple[socket.socket, Any]:
        """Raises BlockingIOError if no client waits, and after each AT_ONCE connections, so that the process gets to its other work."""
        while self._looked_at < AT_ONCE:
            begin = time.monotonic()
            try:
                connected, address = super().accept()
            except OSError:
                self._end_turn()
                raise
            self._looked_at += 1
            place = self.places.take(connected, address)
            if place is not None:
                self._arrived[connected.fileno()] = place
                return connected, address
            connected.close()
            self._for_nothing_s += time.monotonic() - begin
        self._end_turn()
        raise BlockingIOError

    def _end_turn(self) -> None:
        rest_s, self._looked_at, self._for_nothing_s = REST * self._for_nothing_s, 0, 0.0
        if rest_s:
            with contextlib.suppress(RuntimeError):  # another caller polls as seldom as it likes
                asyncio.get_running_loop().call_later(rest_s, self._poll, select.EPOLLIN)
                self._poll(0)

    def _poll(self, events: int) -> None:
        if not self._polled.closed:
            self._polled.modify(super().fileno(), events)


def place_of(descriptor: int) -> Place:
    """The place of a connection that a ListeningSocket has accepted. Its server takes it once."""
    return ListeningSocket._arrived.pop(descriptor)
