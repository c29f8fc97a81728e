"""Who holds many connections of a listening socket keeps nobody else out, and least of all its owner."""

import asyncio
import os
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import pytest

from windtunnel.exchange import connections, http_server
from windtunnel.exchange.address import Address
from windtunnel.exchange.connections import (
    AT_ONCE,
    MOST_A_SECOND,
    MOST_AT_FIRST,
    MOST_OF_KNOWN_A_SECOND,
    MOST_REQUESTS_A_SECOND,
    Client,
    Holder,
    Place,
    Places,
    Rank,
    holder_of,
)

OTHER = 61_873


class Shared:
    """Places, and connections that take them."""

    def __init__(self, stack: ExitStack, most: int):
        self._stack, self.places = stack, Places(most)
        self.ended: list[Place] = []

    def take(self, name: object, rank: Rank = Rank.OTHER, since: float | None = 0.0) -> Place | None:
        """`since` when it is waited for; None: it is served."""
        ours, _theirs = map(self._stack.enter_context, socket.socketpair())
        self.places.holder_of = lambda client: Holder(name, rank)
        place = self.places.take(ours, "")
        if place is not None:
            place.occupy(lambda: since, lambda: self.ended.append(place))
        return place

    def names_of_ended(self) -> list[object]:
        return [place.holder.name for place in self.ended]


@pytest.fixture
def shared() -> Iterator[Shared]:
    with ExitStack() as stack:
        yield Shared(stack, 16)


def test_each_of_the_others_has_a_bound_and_makes_room_for_itself(shared):
    waiting = [shared.take("a", since=since) for since in (5.0, 3.0, 4.0, 6.0)]
    assert shared.take("b") is not None and shared.ended == []
    assert shared.take("a", since=9.0) is not None and shared.ended == [waiting[1]]


def test_whoever_is_served_makes_no_room(shared):
    assert all(shared.take("a", since=None) for _ in range(4))
    assert shared.take("a") is None and shared.ended == []


def test_others_leave_places_for_who_is_known_and_both_for_the_owner(shared):
    others = [shared.take(number, since=None) for number in range(16)]
    assert [place is not None for place in others] == [True] * 12 + [False] * 4
    known = [shared.take(name, Rank.KNOWN, since=None) for name in "xyz"]
    assert [place is not None for place in known] == [True, True, False]
    own = [shared.take("me", Rank.OWN, since=None) for _ in range(3)]
    assert [place is not None for place in own] == [True, True, False]
    assert shared.ended == []


def test_the_lower_rank_makes_room_and_of_it_who_has_the_most(shared):
    """And of theirs the one that asked for nothing yet, before one that is older and has."""
    for number in range(7):
        shared.take(number, since=1.0)
    asked, first, *_ = [shared.take("many", since=since) for since in (0.0, 2.0, 3.0, 4.0)]
    asked.has_been_granted = True
    for _ in range(5):
        shared.take("me", Rank.OWN, since=0.5)
    assert shared.ended == []
    assert shared.take("me", Rank.OWN) is not None and shared.ended == [first]


def test_a_new_one_displaces_who_has_more_and_nobody_else(shared):
    for name in "abcdef":
        for since in (1.0, 2.0):
            shared.take(name, since=since)
    assert shared.take("new", since=3.0) is not None and len(shared.ended) == 1
    assert shared.take("new", since=3.0) is not None and shared.names_of_ended().count("new") == 0
    assert shared.take("new", since=3.0) is not None  # as many as others have: its own makes room
    assert shared.names_of_ended().count("new") == 1


@pytest.mark.parametrize(
    ("rank", "has_room"), [(Rank.OTHER, False), (Rank.KNOWN, False), (Rank.OWN, True)], ids=["other", "known", "own"]
)
def test_whoever_connects_again_and_again_makes_no_room_by_what_has_just_come(shared, rank, has_room):
    """Each would cost the handshake of the one before. The owner's are answered however many there are."""
    while shared.take("a", rank, since=time.monotonic()) and not shared.ended:
        pass
    assert bool(shared.take("a", rank, since=time.monotonic())) == has_room == bool(shared.ended)


def test_whoever_has_shown_a_token_is_known_from_then_on(shared, monkeypatch):
    monkeypatch.setattr(connections, "MOST_KNOWN", 2)
    for name in "abc":
        shared.take(name).prove()
    assert [shared.take(name).holder.rank for name in "abc"] == [Rank.OTHER, Rank.KNOWN, Rank.KNOWN]
    assert [shared.take(name, Rank.OWN).holder.rank for name in "abc"] == [Rank.OWN] * 3


def test_a_connection_that_has_ended_leaves_its_place(shared):
    with ExitStack() as stack:
        brief = Shared(stack, 16)
        brief.places = shared.places
        assert all(brief.take("a", since=None) for _ in range(4))
    assert all(shared.take("a", since=None) for _ in range(4))


@pytest.mark.parametrize(
    ("client", "holder"),
    [
        (Client(os.geteuid(), 1), Holder(os.geteuid(), Rank.OWN)),
        (Client(0), Holder(0, Rank.OWN)),
        (Client(OTHER), Holder(OTHER, Rank.OTHER)),
        (Client(None, None, "192.0.2.1"), Holder("192.0.2.1", Rank.OTHER)),
        (Client(None, None, "::ffff:192.0.2.1"), Holder("192.0.2.1", Rank.OTHER)),
        (Client(None, None, "2001:db8::1:2:3:4"), Holder("2001:db8::/64", Rank.OTHER)),
        (Client(None, None, "fe80::1%lo"), Holder("fe80::/64", Rank.OTHER)),
        (Client(None, None, "127.0.0.77"), Holder("loopback", Rank.OTHER)),
        (Client(None, None, "::ffff:127.0.0.78"), Holder("loopback", Rank.OTHER)),
        (Client(None, None, "::1"), Holder("loopback", Rank.OTHER)),
    ],
)
def test_connections_of_one_user_or_address_are_one_holders(client, holder):
    assert holder_of(client) == holder


def test_the_kernel_says_whose_a_connection_is_before_it_is_accepted():
    seen = []
    with http_server.tcp_socket(Address("127.0.0.1", 0)) as listening:
        listening.places.holder_of = lambda client: seen.append(client) or holder_of(client)
        with socket.create_connection(listening.getsockname()), listening.accept()[0]:
            pass
        with socket.create_connection(listening.getsockname()) as half:
            half.shutdown(socket.SHUT_WR)
            listening.accept()[0].close()
    assert seen == [Client(os.geteuid(), None, "127.0.0.1"), Client(None, None, "127.0.0.1")]


def test_one_turn_looks_at_a_few_connections_also_if_none_of_them_has_a_place():
    looked_at = []
    with http_server.tcp_socket(Address("127.0.0.1", 0)) as listening, ExitStack() as clients:
        listening.places.take = lambda *which: looked_at.append(which)
        held = [clients.enter_context(socket.create_connection(listening.getsockname())) for _ in range(AT_ONCE + 4)]
        for turns in (AT_ONCE, AT_ONCE + 4):
            with pytest.raises(BlockingIOError):
                listening.accept()
            assert len(looked_at) == turns
        assert [each.recv(1) for each in held] == [b""] * len(held)


def test_whoever_is_not_the_owner_connects_at_a_rate(shared, monkeypatch):
    """Each connection may be a refusal, which takes the daemon a millisecond before all tenants."""
    now = [0.0]
    monkeypatch.setattr(connections.time, "monotonic", lambda: now[0])

    def times(name: str, rank: Rank = Rank.OTHER) -> int:
        taken = 0
        for _ in range(MOST_AT_FIRST + 8):
            with ExitStack() as stack:
                brief = Shared(stack, 16)
                brief.places = shared.places
                taken += brief.take(name, rank) is not None
        return taken

    assert (times("a"), times("b")) == (MOST_AT_FIRST, MOST_AT_FIRST)
    assert times("a") == 0
    now[0] += 1.0
    assert times("a") == MOST_A_SECOND
    assert times("me", Rank.OWN) == MOST_AT_FIRST + 8 and times("c", Rank.KNOWN) == MOST_AT_FIRST
    shared.places.know(Holder("a", Rank.OTHER))
    now[0] += 0.5
    assert times("a") == times("c", Rank.KNOWN) == MOST_OF_KNOWN_A_SECOND // 2


def test_whoever_is_not_the_owner_asks_at_a_rate_over_all_connections(shared, monkeypatch):
    """Requests wait for their turn: no holder's are refused, and each waits for those alone that its own connections have sent."""
    now = [0.0]
    monkeypatch.setattr(connections.time, "monotonic", lambda: now[0])
    one, two, other, owner = map(shared.take, ("a", "a", "b", "me"), (Rank.OTHER, Rank.KNOWN, Rank.KNOWN, Rank.OWN))
    for place in (one, two) * (MOST_AT_FIRST // 2):
        assert place.delay_s() == 0
    assert [round(place.delay_s() * MOST_REQUESTS_A_SECOND) for place in (one, two, one)] == [1, 2, 3]
    assert other.delay_s() == 0
    assert {owner.delay_s() for _ in range(MOST_AT_FIRST * 2)} == {0}
    now[0] += 1.0
    assert {two.delay_s() for _ in range(MOST_AT_FIRST)} == {0}
    assert two.delay_s() == pytest.approx(1 / MOST_REQUESTS_A_SECOND)


def is_reported(listening: socket.socket) -> bool:
    watch = select.poll()
    watch.register(listening.fileno(), select.POLLIN)
    return bool(watch.poll(0))


def test_an_event_loop_rests_after_connections_that_are_closed_unread(monkeypatch):
    """They would take all of its time, which may be real-time."""
    then: list[Callable[[], object]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "call_later", lambda rest_s, *call: then.append(partial(*call)) if rest_s else None)
        with http_server.tcp_socket(Address("127.0.0.1", 0)) as listening, ExitStack() as clients:
            listening.places.take = lambda *_: None
            first = clients.enter_context(socket.create_connection(listening.getsockname()))
            assert is_reported(listening)
            with pytest.raises(BlockingIOError):
                listening.accept()
            second = clients.enter_context(socket.create_connection(listening.getsockname()))
            assert first.recv(1) == b"" and not is_reported(listening)
            then.pop()()
            assert is_reported(listening)
            with pytest.raises(BlockingIOError):
                listening.accept()
            assert second.recv(1) == b""
        then.pop()()  # it is closed meanwhile

    asyncio.run(main())
