"""Who is not asked in waits for nothing, and holds nobody else's connection."""

import asyncio
import os
import re
import socket
import ssl
import subprocess
import sys
from contextlib import asynccontextmanager
from itertools import chain, islice, repeat

import h11
import pytest
import tls_files

from windtunnel.errors import UserError
from windtunnel.exchange import connection_users, connections, http_server
from windtunnel.exchange.address import Address
from windtunnel.exchange.http_server import PEER, Limits

pytestmark = pytest.mark.slow
OTHER = 61_873
HERE = Address("127.0.0.1", 0)
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
ENDLESS = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"


async def page(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def serving(server, listening):
    task = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:
        assert not task.done()
        await asyncio.sleep(0.001)
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = True
        await task


async def status_of(connection, request=GET):
    reader, writer = connection
    writer.write(request)
    return int((await reader.readuntil(b"\r\n\r\n"))[9:12])


async def has_ended(connection) -> bool:
    """Whether the server closes the connection."""
    try:
        async with asyncio.timeout(20):
            return not await connection[0].read(1)
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_a_body_that_does_not_end_keeps_nobody_out(monkeypatch):
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)

    async def run():
        async with serving(http_server.server(Limits(page)), http_server.tcp_socket(HERE)) as at:
            held = [await asyncio.open_connection(*at) for _ in range(10)]
            for _, writer in held:
                writer.write(ENDLESS)
            owner = await status_of(await asyncio.open_connection(*at))
            ended = [await first for first in islice(asyncio.as_completed(map(has_ended, held)), 7)]
            for _, writer in held:
                writer.close()
            return owner, ended

    owner, ended = asyncio.run(run())
    assert owner == 200 and all(ended)


def test_a_foreign_connection_takes_nobodys_place(monkeypatch):
    """Whose it is the kernel says, here: another user's from the fourth one on."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)
    users = chain([os.geteuid()] * 3, repeat(OTHER))
    monkeypatch.setattr(connection_users, "user", lambda client, server: next(users))

    async def run():
        async with serving(http_server.server(Limits(page)), http_server.tcp_socket(HERE)) as at:
            held = [await asyncio.open_connection(*at) for _ in range(3)]
            assert [await status_of(each) for each in held] == [200] * 3
            foreign = [await asyncio.open_connection(*at) for _ in range(10)]
            ended = [await has_ended(each) for each in foreign]
            again = [await status_of(each) for each in held]
            for _, writer in (*held, *foreign):
                writer.close()
            return ended, again

    ended, again = asyncio.run(run())
    assert all(ended) and again == [200] * 3


@tls_files.needs_openssl
def test_who_connects_and_does_not_greet_holds_a_few_descriptors_and_keeps_nobody_out(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)
    _, certificate, key = tls_files.make(tmp_path)
    listening = http_server.tcp_socket(Address("127.0.0.2", 0))

    async def run():
        async with serving(http_server.server(Limits(page), (certificate, key)), listening) as at:
            trusted = ssl.create_default_context(cafile=certificate)
            early = await asyncio.open_connection(*at, ssl=trusted)
            first = await status_of(early)
            before = len(os.listdir("/proc/self/fd"))
            silent = [await asyncio.open_connection(*at) for _ in range(30)]
            late = await asyncio.open_connection(*at, ssl=trusted)
            statuses = [await status_of(each) for each in (early, late, early)]
            ended = [await has_ended(connection) for connection in silent[:27]]
            more = len(os.listdir("/proc/self/fd")) - before - len(silent)
            for _, writer in (early, late, *silent):
                writer.close()
            return [first, *statuses], ended, more

    statuses, ended, more = asyncio.run(run())
    assert statuses == [200] * 4
    assert all(ended) and more <= 8


async def said_to(*pieces: bytes, access=lambda scope: None, most_body=lambda scope: 4096) -> bytes:
    """All that a server says until it ends the connection, which is what this waits for. It reads each piece for itself."""
    read = asyncio.Semaphore(0)

    class Counted(http_server.Guarded):
        def data_received(self, data):
            super().data_received(data)
            read.release()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(http_server, "Guarded", Counted)
        return await _said_to(read, pieces, access, most_body)


async def _said_to(read, pieces, access, most_body) -> bytes:
    async with serving(http_server.server(Limits(page, access, most_body)), http_server.tcp_socket(HERE)) as at:
        reader, writer = await asyncio.open_connection(*at)
        said = asyncio.create_task(reader.read())
        for piece in pieces:
            if said.done():
                break
            writer.write(piece)
            await asyncio.wait([said, asyncio.ensure_future(read.acquire())], return_when=asyncio.FIRST_COMPLETED)
        try:
            return await said
        except ConnectionResetError:
            return b""
        finally:
            writer.close()


def statuses_in(said: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", said)]


POST = b"POST / HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    ("pieces", "status"),
    [
        ([bytes([byte]) for byte in GET[:-4] + b"\r\nX: " + b"x" * 100], 431),
        ([b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A:\r\n" * 64 + b"\r\n"], 431),
        ([b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * http_server.MOST_HEAD + b"\r\n\r\n"], 431),
        ([POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 10_000], 411),
        ([POST + b"Content-Length: 4000\r\n\r\n", *[b"x"] * 4000], 413),
        ([POST + b"Content-Length: 4097\r\n\r\n"], 413),
        ([b"nothing\r\n\r\n"], 400),
    ],
    ids=["pieces of a head", "lines", "long head at once", "chunks", "pieces of a body", "long body", "no HTTP"],
)
def test_who_sends_little_by_little_or_much_at_once_is_refused_once(pieces, status):
    said = asyncio.run(said_to(*pieces))
    assert statuses_in(said) == [status] and b"connection: close" in said.lower() and b'"error"' in said


def test_a_body_in_a_few_pieces_is_taken():
    pieces = (
        GET[:5],
        GET[5:-2],
        b"Connection: close\r\nContent-Length: 4096\r\n\r\n",
        b"x" * 96,
        b"x" * 2000,
        b"x" * 2000,
    )
    assert statuses_in(asyncio.run(said_to(*pieces))) == [200]


def test_no_head_is_taken_apart_that_has_too_many_lines(monkeypatch):
    """That would cost a thousand times as much as to count them."""
    monkeypatch.setattr(h11.Connection, "next_event", lambda parser: pytest.fail("it was"))
    parser = http_server.Parser(http_server.MOST_HEAD)
    parser.receive_data(b"GET / HTTP/1.1\r\n" + b"A:\r\n" * 65)
    with pytest.raises(h11.RemoteProtocolError):
        parser.next_event()


def test_a_request_waits_for_its_turn_before_it_is_looked_at(monkeypatch):
    done = []

    class Later(connections.Place):
        def delay_s(self):
            return 7.0

    async def sleep(delay_s):
        done.append(delay_s)

    def refuse(scope):
        done.append("looked at")
        return 403, "no"

    async def run():
        ours, theirs = socket.socketpair()
        with ours, theirs:
            place = Later(ours, connections.Holder("a", connections.Rank.KNOWN), connections.Places(1))
            scope = {"type": "http", "headers": [], "state": {http_server.PLACE: place}}
            await Limits(page, refuse)(scope, None, send)

    async def send(message):
        done.append(message["type"])

    monkeypatch.setattr(http_server.asyncio, "sleep", sleep)
    asyncio.run(run())
    assert done == [7.0, "looked at", "http.response.start", "http.response.body"]


def test_who_asks_again_before_the_response_gets_that_one_and_the_end():
    assert statuses_in(asyncio.run(said_to(GET * 1000))) == [200]


@pytest.mark.parametrize("refusal", [(401, "a token is needed"), (403, "this token may not do that")])
def test_a_refusal_ends_the_connection(refusal):
    said = asyncio.run(said_to(GET, GET, access=lambda scope: refusal))
    assert statuses_in(said) == [refusal[0]]


def test_a_response_is_not_mixed_with_the_refusal_of_what_follows(capfd):
    """The second piece is no part of a request, and comes while the response to the first one is made."""
    asked = asyncio.Event()

    async def slowly(scope, receive, send):
        asked.set()
        assert (await receive())["type"] == "http.request"
        assert (await receive())["type"] == "http.disconnect"

    async def run():
        async with serving(http_server.server(slowly), http_server.tcp_socket(HERE)) as at:
            reader, writer = await asyncio.open_connection(*at)
            writer.write(GET[:-2] + b"Connection: close\r\n\r\n")
            await asked.wait()
            writer.write(b"more")
            try:
                return await reader.read()
            except ConnectionResetError:
                return b""
            finally:
                writer.close()

    assert asyncio.run(run()) == b"" and capfd.readouterr().err == ""


@pytest.mark.parametrize("which", ["certificate", "key"])
def test_a_certificate_or_key_that_is_a_fifo_is_refused_at_once(tmp_path, which):
    """Its other end is opened here, so that nothing would wait for ever."""
    files = {name: tmp_path / name for name in ("certificate", "key")}
    files["certificate"].write_text("")
    files["key"].write_text("")
    files[which].unlink()
    os.mkfifo(files[which])
    other = os.open(files[which], os.O_RDWR)
    try:
        with pytest.raises(UserError, match=f"{which}: not a regular file"):
            http_server.check_tls(files["certificate"], files["key"])
        with pytest.raises(UserError, match="none: No such file or directory"):
            http_server.check_tls(tmp_path / "none", files["key"])
    finally:
        os.close(other)


@tls_files.needs_openssl
def test_tls_records_of_one_byte_are_read_little_by_little(tmp_path, monkeypatch):
    """Of a client that nobody knows: the handshake is all that it takes."""
    _, certificate, key = tls_files.make(tmp_path)
    read = []

    class Counted(http_server.Guarded):
        def data_received(self, data):
            read.append(len(data))
            super().data_received(data)

    monkeypatch.setattr(http_server, "Guarded", Counted)
    monkeypatch.setattr(http_server, "MOST_PIECES", 1000)

    async def run():
        listening = http_server.tcp_socket(Address("127.0.0.2", 0))
        async with serving(http_server.server(Limits(page), (certificate, key)), listening) as at:
            reader, writer = await asyncio.open_connection(*at)
            received, to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
            client = ssl.create_default_context(cafile=certificate).wrap_bio(received, to_send, server_hostname=at[0])
            while True:
                try:
                    client.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    writer.write(to_send.read())
                    received.write(await reader.read(65536))
            for _ in range(4000):
                client.write(b"x")
            writer.write(to_send.read())
            while sum(read) < 4000:
                await asyncio.sleep(0)
            writer.close()

    asyncio.run(run())
    assert max(read) <= http_server.MOST_TLS_READ // 22  # a header of five bytes, and 16 of the cipher


CONNECTS = """
import socket, sys
sys.stdin.readline()
with socket.socket(socket.AF_UNIX) as made, socket.socket(socket.AF_UNIX) as hand:
    made.connect(sys.argv[1])
    hand.connect(sys.argv[2])
    socket.send_fds(hand, [b"x"], [made.fileno()])
    sys.stdin.read()
"""


def test_a_connection_is_of_the_process_that_made_it_as_long_as_that_lives(tmp_path):
    """Another process has it then, and the number of the first one may be anybody's."""
    pids = []

    async def whose(scope, receive, send):
        peer = scope["state"][PEER]
        pids.append(peer.pid if peer.lives() else None)
        await page(scope, receive, send)

    async def run(child, path, hand):
        with http_server.unix_socket(path) as listening:
            async with serving(http_server.server(Limits(whose)), listening):
                child.stdin.write(b"\n")
                child.stdin.flush()
                accepted, _ = await asyncio.to_thread(hand.accept)
                with accepted:
                    _, (fd,), _, _ = await asyncio.to_thread(socket.recv_fds, accepted, 1, 1)
                connection = await asyncio.open_unix_connection(sock=socket.socket(fileno=fd))
                assert await status_of(connection) == 200
                child.stdin.close()
                child.wait()
                assert await status_of(connection) == 200
                connection[1].close()

    path = tmp_path / "sock"
    with socket.socket(socket.AF_UNIX) as hand:
        hand.bind(str(tmp_path / "hand"))
        hand.listen()
        with subprocess.Popen(
            [sys.executable, "-c", CONNECTS, path, hand.getsockname()], stdin=subprocess.PIPE
        ) as child:
            asyncio.run(run(child, path, hand))
    assert pids == [child.pid, None]


def test_a_client_that_has_no_number_here_is_served_without_one(tmp_path, monkeypatch):
    """As that of another pid namespace: its number is 0."""
    states, faults = [], []

    async def whose(scope, receive, send):
        states.append(scope["state"])
        await page(scope, receive, send)

    async def run(path):
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context))
        with http_server.unix_socket(path) as listening:
            async with serving(http_server.server(Limits(whose)), listening):
                connection = await asyncio.open_unix_connection(path)
                assert await status_of(connection) == 200
                connection[1].close()

    monkeypatch.setattr(http_server.places, "peer", lambda connected: (0, os.geteuid()))
    asyncio.run(run(tmp_path / "sock"))
    assert [PEER in state for state in states] == [False] and faults == []


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET])
def test_a_socket_that_somebody_has_stays_even_if_it_is_full(tmp_path, kind):
    path = tmp_path / "sock"
    waiting = [socket.socket(socket.AF_UNIX, kind) for _ in range(3)]
    with socket.socket(socket.AF_UNIX, kind) as theirs:
        theirs.bind(str(path))
        if kind != socket.SOCK_DGRAM:
            theirs.listen(0)
            for each in waiting:
                each.setblocking(False)
                each.connect_ex(str(path))
        with (
            pytest.raises(UserError, match="another process listens there") as refused,
            http_server.unix_socket(path),
        ):
            pass
        assert str(path) in refused.value.message
    for each in waiting:
        each.close()
    with http_server.unix_socket(path) as ours:
        assert path.is_socket() and http_server.shown(ours) == str(path)
    assert not path.exists()


def swapped(path, elsewhere):
    """Who owns the directory of a socket moves it away, and puts a link to another one there."""
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.symlink_to(elsewhere)


def test_nothing_of_another_directory_is_removed_at_the_end(tmp_path):
    for name in ("theirs", "ours"):
        (tmp_path / name).mkdir()
    (tmp_path / "ours" / "sock").write_text("kept")
    with http_server.unix_socket(tmp_path / "theirs" / "sock"):
        swapped(tmp_path / "theirs" / "sock", tmp_path / "ours")
    assert (tmp_path / "ours" / "sock").read_text() == "kept"
    assert list((tmp_path / "moved").iterdir()) == []


def test_what_took_the_name_of_the_socket_meanwhile_stays(tmp_path):
    path = tmp_path / "sock"
    with http_server.unix_socket(path):
        path.unlink()
        second = http_server.unix_socket(path)
        second.__enter__()
    assert path.is_socket(), "it is another one's"
    path.unlink()
    path.write_text("a file")
    second.__exit__(None, None, None)
    assert path.read_text() == "a file"


def test_a_directory_that_is_not_there_is_said(tmp_path):
    with (
        pytest.raises(UserError, match="none/sock: cannot listen there: No such file or directory"),
        http_server.unix_socket(tmp_path / "none" / "sock"),
    ):
        pass
