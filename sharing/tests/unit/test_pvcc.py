"""PvCC's text protocol: what is answered, what is refused, and that nothing that is sent harms."""

import asyncio
import contextlib
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pool_tools import Pools

from windtunnel.exchange import connections, http_server
from windtunnel.exchange.address import Address
from windtunnel_sharing.daemon import pvcc
from windtunnel_sharing.daemon.pvcc import Lines, Pvcc, Set, Wrong, parse, response

FIG_11 = {f"seastar{n}": {"weight": weight} for n, weight in enumerate((128, 64, 32, 16), 1)}


def test_the_weights_of_fig11_give_one_one_and_two_cores():
    pools = Pools(range(6), **FIG_11)
    cores = []
    for weights in ([128, 64, 32, 16], [128, 64, 32, 32], [128] * 4, [128, 64, 32, 32]):
        lines = [f"SET {vm} {weight}".encode() for vm, weight in enumerate(weights, 1)]
        assert response(pools, lines, "test") == (["OK"] * 4, False)
        assert list(pools.weights().values()) == weights
        cores.append(len(pools.plan.ls))
    assert cores == [1, 1, 2, 1]


def test_exit_resets_weights_and_gives_the_cores_back_and_set_takes_one_again():
    pools = Pools(range(6), **FIG_11)
    response(pools, [b"SET 1 256", b"SET 2 256"], "test")
    assert response(pools, [b"EXIT", b"SET 1 1"], "test") == (["OK"], True)
    assert pools.weights() == {"seastar1": 128, "seastar2": 64, "seastar3": 32, "seastar4": 16}
    assert (pools.plan.ls, pools.plan.be) == ((), tuple(range(6)))
    assert set(pools.carrier.now.be.values()) == {frozenset(range(6))}
    assert response(pools, [b"SET 3 40"], "test") == (["OK"], False)
    assert (pools.plan.ls, pools.carrier.now.turns) == ((5,), {5: {300: 40}})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("SET 5 128", 'NG no tenant "5"'),
        ("SET 0 128", 'NG no tenant "0"'),
        ("SET 1 0", "NG seastar1: a weight of 0 is not between 1 and 256"),
        ("SET 1 -1", "NG seastar1: a weight of -1 is not"),
        ("SET 1 1000000000", "NG seastar1: a weight of 1000000000 is not"),
        ("SET 1", "NG a SET has a tenant and a whole number"),
        ("SET 1 128 9", "NG a SET has"),
        ("SET 1 1.5", "NG a SET has"),
        ("set 1 128", "NG unknown command"),
        ("ENDE", "NG unknown command"),
        ("", "NG unknown command"),
        ("HELP\x00", "NG unknown command"),
    ],
)
def test_errors_are_errors(line, reason):
    pools = Pools(range(6), **FIG_11)
    (said,), ends = response(pools, [line.encode()], "test")
    assert said.startswith(reason)
    assert (ends, list(pools.weights().values())) == (False, [128, 64, 32, 16])


def test_a_weight_beyond_the_machine_is_refused_and_nothing_changes():
    pools = Pools((0, 1), **FIG_11)
    said, _ = response(pools, [b"SET 4 32", b"SET 4 33"], "test")
    assert said == ["OK", "NG weights of 257 need 2 CPUs, and ls has at most 1, because 1 of 2 stay with be"]
    assert pools.weights()["seastar4"] == 32


def test_what_the_system_refuses_is_ng_for_all_that_were_carried_out_together():
    pools = Pools(range(6), **FIG_11)
    pools.carrier.refuses = "the kernel refused"
    said, _ = response(pools, [b"SET 1 100", b"SET 9 1", b"SET 2 100"], "test")
    assert said == ["NG the kernel refused", 'NG no tenant "9"', "NG the kernel refused"]
    assert list(pools.weights().values()) == [128, 64, 32, 16]


class Clock(list):
    """What was put off, by `later`."""

    def of(self, pools):
        pools.later = self.append
        return pools


def test_weights_alone_are_granted_at_once_and_carried_out_together():
    later = Clock()
    pools = later.of(Pools(range(6), **FIG_11))
    response(pools, [b"SET 1 100"], "test")
    pools.settle_late()
    later.clear()
    carried = len(pools.carrier.carried)
    for weight in (90, 80, 70):
        assert response(pools, [f"SET 1 {weight}".encode()], "test") == (["OK"], False)
    assert (len(pools.carrier.carried), len(later), pools.weights()["seastar1"]) == (carried, 1, 70)
    pools.settle_late()
    assert (len(pools.carrier.carried), pools.carrier.now.turns[5][100]) == (carried + 1, 70)


@pytest.mark.parametrize("line", [b"SET 1 256", b"EXIT"])
def test_a_change_of_cores_is_carried_out_before_it_is_responses(line):
    later = Clock()
    pools = later.of(Pools(range(6), **FIG_11))
    response(pools, [b"SET 1 100"], "test")
    before = pools.plan.ls
    response(pools, [b"SET 1 90"], "test")
    response(pools, [line], "test")
    assert pools.plan.ls != before
    assert pools.carrier.now == pools.carrier.carried[-1]
    carried = len(pools.carrier.carried)
    pools.settle_late()
    assert len(pools.carrier.carried) == carried


def test_what_was_put_off_and_cannot_be_is_taken_back_and_told():
    pools = Clock().of(Pools(range(6), **FIG_11))
    response(pools, [b"SET 1 100"], "test")
    pools.settle_late()
    response(pools, [b"SET 1 90"], "test")
    pools.carrier.refuses = "the kernel refused"
    pools.settle_late()
    assert pools.weights()["seastar1"] == 100
    assert pools.events.since(0)[-1]["why"] == "the kernel refused"


@given(st.text(max_size=80))
def test_any_text_is_understood_or_wrong(text):
    try:
        asked = parse(text)
    except Wrong:
        return
    assert asked in ("END", "EXIT") or isinstance(asked, Set)


@given(st.from_regex(r"[a-z0-9_][a-z0-9_.-]{0,63}", fullmatch=True), st.integers(-(10**12) + 1, 10**12 - 1))
def test_every_set_is_understood(vm, weight):
    assert parse(f"SET {vm} {weight}") == Set(vm, weight)


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_lines_are_the_same_however_they_are_cut(chunks):
    whole, parts = Lines(), Lines()
    try:
        expected = whole.feed(b"".join(chunks)) + whole.flush()
    except Wrong:
        return
    assert [line for chunk in chunks for line in parts.feed(chunk)] + parts.flush() == expected


def nothing():
    raise AssertionError("not another protocol")


class Served:
    """The protocol on a loopback port."""

    def __init__(self, port, pools):
        self.port, self.pools = port, pools

    async def connect(self, **how):
        return await asyncio.open_connection("127.0.0.1", self.port, **how)

    async def talk(self, *messages):
        """All that is said to these messages until the server closes."""
        reader, writer = await self.connect()
        for message in messages:
            writer.write(message)
            await asyncio.sleep(0)
        with contextlib.suppress(OSError):  # the server has closed already
            writer.write_eof()
        said = await reader.read()
        writer.close()
        return said.decode()


def serve(client, allow=("127.0.0.0/8",), foreign=nothing):
    """Returns what `client` does, given a server."""

    async def run():
        pools = Pools(range(6), **FIG_11)
        listening = http_server.tcp_socket(Address("127.0.0.1", 0))
        server = await asyncio.get_running_loop().create_server(lambda: Pvcc(pools, allow, foreign), sock=listening)
        async with asyncio.timeout(60):
            found = await client(Served(server.sockets[0].getsockname()[1], pools))
        server.close()
        return found

    return asyncio.run(run())


@pytest.mark.slow
def test_the_originals_clients_send_no_line_ends():
    async def client(served):
        reader, writer = await served.connect()
        writer.write(b"SET 2 256")
        assert await reader.read(1024) == b"OK\n"
        writer.write(b"END")
        assert await reader.read(1024) == b"OK\n"
        assert await reader.read(1024) == b""
        writer.close()
        return served.pools.weights()["seastar2"]

    assert serve(client) == 256


@pytest.mark.slow
def test_ten_thousand_in_a_row():
    async def client(served):
        reader, writer = await served.connect()
        said = asyncio.create_task(reader.read(-1))
        for n in range(100):
            writer.write(b"".join(b"SET %d %d\r\n" % (1 + k % 4, 1 + (n + k) % 256) for k in range(100)))
            await writer.drain()
        writer.write_eof()
        responses = (await said).split()
        writer.close()
        return responses

    responses = serve(client)
    assert (len(responses), set(responses)) == (10_000, {b"OK"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"SET 1 1" + b" " * 300, "NG a line longer than 256 bytes, or in more than 64 pieces\n"),
        (b"\xff\xfe\n", "NG not ASCII\n"),
        (b"SET 1 100\nEND\nSET 1 200\n", "OK\nOK\n"),
        (b"SET 1 100", "OK\n"),
        (b"SET 1 100\0", "OK\n"),
        (b"SET 1 100\n\0SET 2 100\r\nSET 3 10\rSET 4 10", "OK\n" * 4),
        (b"SET 1 100\0END\0SET 1 200\0", "OK\nOK\n"),
        (b"SET1 100\n", "OK\n"),
        (b"SET 1 +100 \t\n", "OK\n"),
        (b"SET01 100\n", "OK\n"),
        (b"\r\n \n\0\n", ""),
    ],
)
def test_over_a_socket(sent, said):
    assert serve(lambda served: served.talk(sent)) == said


@pytest.mark.slow
@pytest.mark.parametrize("end", [b"", b"\0", b"\n", b"\r\n", b"\n\0", b"\r"])
@pytest.mark.parametrize("last", [b"", b"\0", b"\n"])
def test_every_message_gets_a_response_however_it_ends(monkeypatch, end, last):
    monkeypatch.setattr(pvcc, "CUT_S", 0.02)

    async def client(served):
        reader, writer = await served.connect()
        said = []
        for message in (b"SET 1 100" + end, b"SET 2 100", b"HELLO" + last, b"END" + last):
            writer.write(message)
            said.append((await reader.readline())[:2])
        rest = await reader.read()
        writer.close()
        return said, rest

    assert serve(client) == ([b"OK", b"OK", b"NG", b"OK"], b"")


HEADS = [b"%s / HTTP/1.1\r\n" % method for method in (b"GET", b"POST", b"OPTIONS", b"HEAD", b"PUT", b"DELETE")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts",
    [
        *([head + b"Host: x\r\n\r\nSET 1 1\nEXIT\n"] for head in HEADS),
        [HEADS[1] + b"Host: x\r\nContent-Length: 7\r\n\r\n", b"SET 1 1"],
        [b"POST /" + b"x" * 5000 + b" HTTP/1.1\r\nHost: x\r\n\r\nSET 1 1\nEXIT\n"],
        [b"POST /", b" HTTP/1.1\r\n\r\nSET 1 1\n"],
        [b"SEARCH / HTTP/1.0\r\n\r\nSET 1 1\n"],
        [b"\r\nPOST / HTTP/1.1\r\n\r\nSET 1 1\n"],
        [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nSET 1 1\n"],
        [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\nSET 1 1\nEXIT\n"],
    ],
)
def test_what_a_web_page_sends_is_closed_counted_and_not_carried_out(parts):
    counted = []

    async def client(served):
        reader, writer = await served.connect()
        said = b""
        with contextlib.suppress(ConnectionError):
            for part in parts:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0.01)  # a body comes in a packet of its own
            said = await reader.read()
        writer.close()
        return said, list(served.pools.weights().values()), await served.talk(b"SET 2 64\n")

    assert serve(client, foreign=lambda: counted.append(1)) == (b"", [128, 64, 32, 16], "OK\n")
    assert counted == [1]


@pytest.mark.slow
def test_over_a_unix_socket_allow_is_not_asked(tmp_path):
    async def talk(listening):
        pools = Pools(range(6), **FIG_11)
        loop = asyncio.get_running_loop()
        server = await loop.create_unix_server(lambda: Pvcc(pools, ["192.0.2.0/24"], nothing), sock=listening)
        said = []
        for name in (None, "client.sock"):
            with socket.socket(socket.AF_UNIX) as client:
                if name:
                    client.bind(str(tmp_path / name))
                client.connect(str(tmp_path / "pvcc.sock"))
                reader, writer = await asyncio.open_unix_connection(sock=client)
                writer.write(b"SET 1 77")
                said.append(await reader.read(1024))
                writer.close()
        server.close()
        return said, pools.weights()["seastar1"], [e["by"] for e in pools.events.since(0) if e["event"] == "changed"]

    with http_server.unix_socket(tmp_path / "pvcc.sock") as listening:
        assert asyncio.run(talk(listening)) == ([b"OK\n"] * 2, 77, ["pvcc"])


@pytest.mark.slow
def test_who_is_not_allowed_is_told_so():
    assert serve(lambda served: served.talk(), allow=("192.0.2.0/24",)) == "NG not from this address\n"


@pytest.mark.slow
def test_one_connection_too_many_ends_the_one_that_was_silent_for_the_longest(monkeypatch):
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 2)

    async def client(served):
        held = [await served.connect() for _ in range(2)]
        for reader, writer in reversed(held):
            writer.write(b"SET 1 1\n")
            await reader.readline()
        responses = [await served.talk(b"SET 1 2\n"), await held[1][0].read()]
        held[0][1].write(b"SET 1 3\n")
        responses.append(await held[0][0].readline())
        for _, writer in held:
            writer.close()
        return responses

    assert serve(client) == ["OK\n", b"", b"OK\n"]


@pytest.mark.slow
def test_much_at_once_is_read_little_by_little(monkeypatch):
    read = []
    feed = Lines.feed
    monkeypatch.setattr(Lines, "feed", lambda lines, data: read.append(len(data)) or feed(lines, data))

    async def client(served):
        said = await served.talk(b"SET 1 77\n" * 50_000)
        return said.count("OK\n"), served.pools.weights()["seastar1"]

    assert serve(client) == (50_000, 77)
    assert sum(read) == 450_000 and max(read) <= 4096


@pytest.mark.slow
def test_a_message_in_many_pieces_is_wrong(monkeypatch):
    monkeypatch.setattr(pvcc, "CUT_S", 60.0)
    monkeypatch.setattr(pvcc, "MOST_PIECES", 3)

    async def client(served):
        _, writer = connected = await served.connect()
        writer.write(b"SET 1 77\n")
        assert await connected[0].readline() == b"OK\n"
        for piece in (b"S", b"E", b"T", b" "):
            writer.write(piece)
            await asyncio.sleep(0.02)  # the kernel makes one of pieces that nobody has read
        said = await connected[0].read()
        writer.close()
        return said

    assert serve(client).startswith(b"NG a line longer")


@pytest.mark.slow
def test_who_does_not_read_is_cut_off(monkeypatch):
    monkeypatch.setattr(pvcc, "SLOW_S", 0.1)

    async def client(served):
        _, writer = await served.connect(limit=1)
        with pytest.raises(ConnectionError):
            while True:
                writer.write(b"NOTHING\n" * 10_000)
                await writer.drain()
        return await served.talk(b"SET 1 1\n")

    assert serve(client) == "OK\n"


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.lists(st.binary(max_size=200) | st.sampled_from([b"SET 1 5\n", b"SET 2 ", b"9\n", b"EXIT", b"\n"]), max_size=12)
)
def test_whatever_is_sent_the_next_client_is_served(chunks):
    async def client(served):
        try:
            said = await served.talk(*chunks)
        except ConnectionError:
            said = "NG\n"
        assert all(line[:2] in ("OK", "NG") for line in said.splitlines())
        assert await served.talk(b"SET 1 77\n") == "OK\n"
        return served.pools.weights()["seastar1"]

    assert serve(client, foreign=lambda: None) == 77
