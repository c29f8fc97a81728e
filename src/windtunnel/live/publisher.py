"""Serves the announcement of this process on its socket, from a thread. Publishing never waits for a reader."""

import contextlib
import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from windtunnel.engine import own_directory
from windtunnel.live import places

KEPT_BYTES = 8 << 20
"""Bytes of the windows that a late reader gets."""
MOST_PENDING_BYTES = 32 << 20
"""Most bytes that may wait for a reader; one with more is disconnected."""
SLOW_S = 5.0
"""A reader that takes nothing for so long is disconnected, too."""
MOST_READERS = 8
STOP = b"stop\n"


class _Reader:
    """One connection, and the lines that it has not got yet."""

    def __init__(self, connected: socket.socket):
        self.socket = connected
        self._pending: deque[bytes] = deque()
        self._bytes = 0
        self._received = b""
        self._moved_at = time.monotonic()

    def give(self, lines: Iterable[bytes]) -> None:
        if not self._pending:
            self._moved_at = time.monotonic()
        for line in lines:
            self._pending.append(line)
            self._bytes += len(line)

    @property
    def waits(self) -> bool:
        return bool(self._pending)

    @property
    def too_slow(self) -> bool:
        late = self.waits and time.monotonic() - self._moved_at > SLOW_S
        return late or self._bytes > MOST_PENDING_BYTES

    def send(self) -> None:
        """Sends as much as the socket takes. Raises OSError if the reader has gone."""
        while self._pending:
            line = self._pending.popleft()
            try:
                sent = self.socket.send(line)
            except BlockingIOError:
                sent = 0
            if sent:
                self._moved_at = time.monotonic()
                self._bytes -= sent
            if sent < len(line):
                self._pending.appendleft(line[sent:])
                return

    def receive_stop(self) -> bool:
        """Whether it has sent STOP. Raises OSError if it has gone, or sends anything else."""
        received = self.socket.recv(len(STOP))
        self._received += received
        if not received or not STOP.startswith(self._received):
            raise ConnectionError("the reader has gone, or says what nobody understands")
        if self._received != STOP:
            return False
        self._received = b""
        return True


class Publisher:
    """Listens from its creation on, for this user and root. Raises UserError or OSError if it cannot."""

    def __init__(self, path: Path, about: bytes, stop: Callable[[], None]):
        self._path, self._about, self._stop = path, about, stop
        own_directory.make(path.parent)
        self._lock = threading.Lock()
        self._lines: dict[int, tuple[list[bytes], deque[bytes]]] = {}
        self._window_bytes = 0
        self._status_lines: dict[str, bytes] = {}
        self._fresh: list[bytes] = []
        self._readers: list[_Reader] = []
        self._ending = False
        self._listening = _listen(path)
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._serve, name="live", daemon=True)
        self._thread.start()

    def publish(self, run: int, line: bytes, window: bool = False) -> None:
        """Publishes one whole line of a run. The oldest windows of a long run are dropped; the other lines are kept until `forget`."""
        with self._lock:
            first, windows = self._lines.setdefault(run, ([], deque()))
            (windows if window else first).append(line)
            if window:
                self._window_bytes += len(line)
                while self._window_bytes > KEPT_BYTES and len(windows) > 1:
                    self._window_bytes -= len(windows.popleft())
            if self._readers:
                self._fresh.append(line)
                self._wake_up()

    def publish_status(self, key: str, line: bytes) -> None:
        """Publishes one line about all runs, which replaces the previous line with the same `key`."""
        with self._lock:
            self._status_lines[key] = line
            if self._readers:
                self._fresh.append(line)
                self._wake_up()

    def forget(self, run: int) -> None:
        """Drops the lines of a run: later readers do not get them."""
        with self._lock:
            _, windows = self._lines.pop(run, ([], deque()))
            self._window_bytes -= sum(map(len, windows))

    def close(self) -> None:
        """Ends the announcement. Readers get what they can take at once."""
        with self._lock:
            self._ending = True
            self._wake_up()
        self._thread.join()
        self._path.unlink(missing_ok=True)

    def _wake_up(self) -> None:
        with contextlib.suppress(BlockingIOError):  # the thread is being woken already
            os.write(self._wake, b"!")

    def _serve(self) -> None:
        with selectors.DefaultSelector() as self._selector, self._listening:
            self._selector.register(self._listening, selectors.EVENT_READ, self._accept)
            self._selector.register(self._woken, selectors.EVENT_READ, self._hand_out)
            while not self._ending:
                waits = any(reader.waits for reader in self._readers)
                for key, events in self._selector.select(SLOW_S if waits else None):
                    if isinstance(key.data, _Reader):
                        self._attend(key.data, events)
                    else:
                        key.data()
                for reader in [reader for reader in self._readers if reader.too_slow]:
                    self._let_go(reader)
            self._hand_out()
            for reader in list(self._readers):
                self._let_go(reader)
        os.close(self._woken)
        os.close(self._wake)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            connected, _ = self._listening.accept()
            connected.setblocking(False)
            if not places.may_meet(places.peer(connected)[1]) or len(self._readers) >= MOST_READERS:
                connected.close()
                return
            reader = _Reader(connected)
            with self._lock:
                self._hand_out_locked()  # the kept lines include the fresh ones: no reader gets them twice
                reader.give(
                    [
                        self._about,
                        *self._status_lines.values(),
                        *(line for lines in self._lines.values() for part in lines for line in part),
                    ]
                )
                self._readers.append(reader)
            self._selector.register(connected, selectors.EVENT_READ, reader)
            self._push(reader)

    def _hand_out(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, 4096)
        with self._lock:
            self._hand_out_locked()
        for reader in list(self._readers):
            self._push(reader)

    def _hand_out_locked(self) -> None:
        fresh, self._fresh = self._fresh, []
        for reader in self._readers:
            reader.give(fresh)

    def _attend(self, reader: _Reader, events: int) -> None:
        if reader not in self._readers:  # disconnected since the selector reported it
            return
        if events & selectors.EVENT_READ:
            try:
                if reader.receive_stop():
                    self._stop()
            except BlockingIOError:
                pass
            except OSError:
                self._let_go(reader)
                return
        self._push(reader)

    def _push(self, reader: _Reader) -> None:
        try:
            reader.send()
        except OSError:
            self._let_go(reader)
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if reader.waits else 0)
        self._selector.modify(reader.socket, events, reader)

    def _let_go(self, reader: _Reader) -> None:
        with self._lock:
            self._readers.remove(reader)
        self._selector.unregister(reader.socket)
        reader.socket.close()


def _listen(path: Path) -> socket.socket:
    """A listening socket for its owner only. An existing socket of our pid is stale; ours gets the name once it takes connections."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    new = path.with_suffix(places.NEW)
    try:
        new.unlink(missing_ok=True)
        listening.bind(os.fspath(new))
        new.chmod(0o600)
        listening.listen(MOST_READERS)
        new.rename(path)
    except OSError:
        listening.close()
        raise
    return listening
