"""Serves what this process says on its socket, from a thread. Who speaks never waits for who reads."""

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
"""Most bytes that a reader has not taken yet; one with more is cut off."""
SLOW_S = 5.0
"""One that takes nothing for so long is cut off, too."""
MOST_READERS = 8
STOP = b"stop\n"


class _Reader:
    """One connection, and what it has yet to be sent."""

    def __init__(self, connected: socket.socket):
        self.socket = connected
        self._pending: deque[bytes] = deque()
        self._bytes = 0
        self._said = b""
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

    def hear(self) -> bool:
        """Whether it has asked for the end. Raises OSError if it has gone, or says what nobody understands."""
        heard = self.socket.recv(len(STOP))
        self._said += heard
        if not heard or not STOP.startswith(self._said):
            raise ConnectionError("the reader has gone, or says what nobody understands")
        if self._said != STOP:
            return False
        self._said = b""
        return True


class Publisher:
    """Listens from its making on, for this user and root. Raises UserError or OSError if it cannot."""

    def __init__(self, path: Path, about: bytes, stop: Callable[[], None]):
        self._path, self._about, self._stop = path, about, stop
        own_directory.make(path.parent)
        self._lock = threading.Lock()
        self._kept: dict[int, tuple[list[bytes], deque[bytes]]] = {}
        self._kept_bytes = 0
        self._of_all: dict[str, bytes] = {}
        self._fresh: list[bytes] = []
        self._readers: list[_Reader] = []
        self._ending = False
        self._listening = _listen(path)
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._serve, name="live", daemon=True)
        self._thread.start()

    def say(self, run: int, line: bytes, window: bool = False) -> None:
        """One whole line of a run. Windows of a long run are forgotten, the oldest first; the rest is kept until the run is."""
        with self._lock:
            first, windows = self._kept.setdefault(run, ([], deque()))
            (windows if window else first).append(line)
            if window:
                self._kept_bytes += len(line)
                while self._kept_bytes > KEPT_BYTES and len(windows) > 1:
                    self._kept_bytes -= len(windows.popleft())
            if self._readers:
                self._fresh.append(line)
                self._wake_up()

    def say_of_all(self, what: str, line: bytes) -> None:
        """One line about all runs, which takes the place of the one before with the same `what`."""
        with self._lock:
            self._of_all[what] = line
            if self._readers:
                self._fresh.append(line)
                self._wake_up()

    def forget(self, run: int) -> None:
        """What a run said is told to nobody who comes from now on."""
        with self._lock:
            _, windows = self._kept.pop(run, ([], deque()))
            self._kept_bytes -= sum(map(len, windows))

    def close(self) -> None:
        """Readers get what they can take at once."""
        with self._lock:
            self._ending = True
            self._wake_up()
        self._thread.join()
        self._path.unlink(missing_ok=True)

    def _wake_up(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it will wake anyway
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
                self._hand_out_locked()  # what is fresh is kept already: nobody is told it twice
                reader.give(
                    [
                        self._about,
                        *self._of_all.values(),
                        *(line for kept in self._kept.values() for part in kept for line in part),
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
        if reader not in self._readers:  # let go since the selector named it
            return
        if events & selectors.EVENT_READ:
            try:
                if reader.hear():
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
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if reader.waits else 0)
        self._selector.modify(reader.socket, wanted, reader)

    def _let_go(self, reader: _Reader) -> None:
        with self._lock:
            self._readers.remove(reader)
        self._selector.unregister(reader.socket)
        reader.socket.close()


def _listen(path: Path) -> socket.socket:
    """Listens for its owner only. A socket under the name of our pid is a dead process's; ours appears once it can be connected to."""
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
