"""Who may hold how many connections of one listening socket. The kernel is asked whose a connection is before it takes a place.

The owner of the process and root find room whatever others do. Whoever is known, because they have shown a token or are expected, finds
room whatever others do. Each of these has a bound: a user of this host, an address of another one. Where there is no room, who has
been waited for the longest makes some, of who has the most connections.
"""

import contextlib
import ipaddress
import socket
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, ClassVar, Self

from windtunnel.exchange import whose
from windtunnel.live import places as live_places

MOST_CONNECTIONS = 64
"""Of one listening socket."""
AT_ONCE = 16
"""Connections that are taken or refused before other work of the process."""
BACKLOG = 512
"""Connections that the kernel keeps until then. Whoever finds it full has to try again, the owner too."""
PATIENCE_S = 1.0
"""Whoever makes room for their equals has had this time: somebody who connects again and again would else keep us busy with it."""
MOST_KNOWN = 64
"""Names that are kept as known, those that showed a token last."""
LOOPBACK = "loopback"
"""Name of all on this host whom the kernel does not know: their addresses are as many as they like."""


class Rank(IntEnum):
    """Who makes room for whom: the lower one for the higher one."""

    OTHER = 0
    KNOWN = 1
    OWN = 2


@dataclass(frozen=True, slots=True)
class Client:
    """The other end of a connection."""

    uid: int | None
    """Its user, if it is of this host."""
    pid: int | None = None
    """The process that made it, if it is one of a Unix socket."""
    address: str = ""

    @classmethod
    def of(cls, connected: socket.socket, address: Any) -> Self:
        if connected.family == socket.AF_UNIX:
            pid, uid = live_places.peer(connected)
            return cls(uid, pid)
        with contextlib.suppress(OSError):  # it has ended
            return cls(whose.user(address, connected.getsockname()), None, address[0])
        return cls(None, None, address[0])


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has connections: all of one name have a bound together."""

    name: Hashable
    rank: Rank


HolderOf = Callable[[Client], Holder]


def holder_of(client: Client) -> Holder:
    """By user or address: this user and root are the owner."""
    if client.uid is not None:
        return Holder(client.uid, Rank.OWN if live_places.may_meet(client.uid) else Rank.OTHER)
    return Holder(_network(client.address), Rank.OTHER)


def _network(address: str) -> str:
    """An address of IPv4, or a network of IPv6 of which one host may have every address."""
    found = ipaddress.ip_address(address.partition("%")[0])
    found = getattr(found, "ipv4_mapped", None) or found
    if found.is_loopback:
        return LOOPBACK
    return str(found) if found.version == 4 else str(ipaddress.ip_network((found, 64), strict=False))


class Place:
    """That of one connection. Its protocol says, once there is one, since when it waits for the client, and how it ends at once."""

    def __init__(self, connected: socket.socket, holder: Holder, of: "Places"):
        self._connected, self.holder, self._of = connected, holder, of
        self.has_been_granted = False
        """A request of it, which those that have only connected make room for."""
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
        """Its client has shown that it may ask: from now on its name is known."""
        self.holder = self._of.know(self.holder)

    def _shut_down(self) -> None:
        with contextlib.suppress(OSError):
            self._connected.shutdown(socket.SHUT_RDWR)  # whoever reads there finds the end, and closes it


class Places:
    """Of one listening socket. `holder_of` may be replaced."""

    def __init__(self, most: int, holder_of: HolderOf = holder_of):
        self.holder_of = holder_of
        self._most = most
        self._together = {Rank.OTHER: most * 3 // 4, Rank.KNOWN: most * 7 // 8, Rank.OWN: most}
        """Places that those of a rank may have, with those of the ranks below."""
        self._each = max(1, most // 4)
        """Of one name, unless it is an owner's."""
        self._held: list[Place] = []
        self._known: dict[Hashable, None] = {}
        """The latest last."""

    def take(self, connected: socket.socket, address: Any) -> Place | None:
        """A place for a connection; None: there is none for its holder."""
        holder = self.holder_of(Client.of(connected, address))
        if holder.rank < Rank.KNOWN and holder.name in self._known:
            holder = Holder(holder.name, Rank.KNOWN)
        self._held = [place for place in self._held if place.is_held]
        if not self._has_room(holder) and not self._make_room(holder):
            return None
        place = Place(connected, holder, self)
        self._held.append(place)
        return place

    def know(self, holder: Holder) -> Holder:
        if holder.rank > Rank.OTHER:
            return holder
        self._known.pop(holder.name, None)
        self._known[holder.name] = None
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return Holder(holder.name, Rank.KNOWN)

    def _has_room(self, holder: Holder) -> bool:
        together = sum(place.holder.rank <= holder.rank for place in self._held)
        return self._may_have_more(holder) and together < self._together[holder.rank] and len(self._held) < self._most

    def _may_have_more(self, holder: Holder) -> bool:
        own = sum(place.holder.name == holder.name for place in self._held)
        return holder.rank == Rank.OWN or own < self._each

    def _make_room(self, holder: Holder) -> bool:
        """Ends the connection of the lowest rank, of who has the most, that has been waited for the longest, first without a request. Of the
        same rank only who has more than the new one's holder makes room, and unless it is the owner's not at once."""
        counts = Counter(place.holder.name for place in self._held)
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
            for number, place in enumerate(self._held)
            if (since := place.waits_since()) is not None and makes_room(place, since)
        ]
        if not waiting:
            return False
        self._held.pop(min(waiting)[-1]).end()
        return True


class ListeningSocket(socket.socket):
    """Accepts a connection that has a place; others are closed unread. Never waits: that is for who polls it."""

    _arrived: ClassVar[dict[int, Place]] = {}
    """By descriptor: places of connections that have no protocol yet, also those whose handshake of TLS goes on or has failed."""

    def __init__(self, listening: socket.socket, most: int | None = None, path: Path | None = None):
        """`path`: where a Unix socket is."""
        super().__init__(fileno=listening.detach())
        self.setblocking(False)
        self.places = Places(MOST_CONNECTIONS if most is None else most)
        self.path = path
        self._looked_at = 0

    def accept(self) -> tuple[socket.socket, Any]:
        """Raises BlockingIOError where nobody waits, and after each AT_ONCE, so that the process gets to its other work."""
        while self._looked_at < AT_ONCE:
            try:
                connected, address = super().accept()
            except OSError:
                self._looked_at = 0
                raise
            self._looked_at += 1
            place = self.places.take(connected, address)
            if place is not None:
                self._arrived[connected.fileno()] = place
                return connected, address
            connected.close()
        self._looked_at = 0
        raise BlockingIOError


def place_of(descriptor: int) -> Place:
    """That of a connection which a ListeningSocket has accepted: once, by what serves it."""
    return ListeningSocket._arrived.pop(descriptor)
