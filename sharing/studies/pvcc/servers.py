"""Real servers as tenants: memcached, redis-server and nginx, as the system's packages install them.

Each runs on loopback, on one CPU, with a configuration of ours in a directory of its own, one working thread. As it is it
blocks when there is nothing to do; always polling (a shim is preloaded that asks again instead of sleeping) it takes the whole
of its share, as the tenants of PvCC do. Which of the two is said with every result.
"""

import os
import pwd
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from pvcc.kept_process import ROOM, Kept
from windtunnel.api.errors import UserError
from windtunnel_sharing import threads
from windtunnel_sharing.native import find_native

Kind = Literal["memcached", "redis", "nginx"]
ADDRESS = "127.0.0.1"
POLL_SHIM = "libwindtunnel-poll.so"
PATIENCE_S = 10.0
_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"
_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Content:
    """What a server holds: keys 0 to keys - 1, each with `value` bytes."""

    keys: int = 1000
    value: int = 32


@dataclass(frozen=True)
class Profile:
    """How one kind of server is started."""

    package: str
    program: str
    protocol: Literal["memcached", "redis", "http"]
    worker: str
    """Beginning of the name of the thread that serves."""
    command: Callable[[str, Path, int, Content], list[str]]


def _as_nobody() -> list[str]:
    """What starts a program without root's rights: every user of the host reaches a server. It ends with its keeper all the same."""
    if os.geteuid() != 0:
        return []
    nobody = pwd.getpwnam("nobody")
    ids = [f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    return ["setpriv", *ids, "--no-new-privs", "--pdeathsig=KILL"]


def _memcached(program: str, directory: Path, port: int, content: Content) -> list[str]:
    return [*_as_nobody(), program, "-l", ADDRESS, "-p", str(port), "-U", "0", "-t", "1", "-m", "64", "-c", "4096"]


REDIS = {
    "bind": [ADDRESS],
    "save": [""],
    "appendonly": ["no"],
    "daemonize": ["no"],
    "dir": ["/"],
    "io-threads": ["1"],
    "jemalloc-bg-thread": ["no"],
    "maxclients": ["4096"],
    "maxmemory": ["64mb"],
}
CLOSED = (
    "CONFIG",
    "DEBUG",
    "MODULE",
    "REPLICAOF",
    "SLAVEOF",
    "SAVE",
    "BGSAVE",
    "BGREWRITEAOF",
    "SHUTDOWN",
    "FUNCTION",
    "FCALL",
    "FCALL_RO",
    "SCRIPT",
    "EVAL",
    "EVAL_RO",
    "EVALSHA",
    "EVALSHA_RO",
)
"""Commands by which whoever reaches the port, as every user of the host does, might write files or run code."""


def _redis(program: str, directory: Path, port: int, content: Content) -> list[str]:
    """Without files, so that it needs no rights: in root's directory nobody reads any."""
    options = [word for key, values in REDIS.items() for word in (f"--{key}", *values)]
    closed = [word for name in CLOSED for word in ("--rename-command", name, "")]
    return [*_as_nobody(), program, *options, "--port", str(port), *closed]


NGINX_CONF = """daemon off;
master_process off;  # one process, so that none is left when it is killed
worker_processes 1;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  open_file_cache max=100000;
  {temporary}
  server {{ listen {address}:{port}; root {directory}/www; default_type text/plain; }}
}}
"""


def _nginx(program: str, directory: Path, port: int, content: Content) -> list[str]:
    www = directory / "www"
    www.mkdir()
    for key in range(content.keys):
        (www / f"k{key}").write_bytes(value_of(key, content.value))
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "\n  ".join(f"{kind}_temp_path {directory}/{kind};" for kind in kinds)
    file = directory / "nginx.conf"
    text = NGINX_CONF.format(directory=directory, temporary=temporary, address=ADDRESS, port=port)
    file.write_text(text, encoding="utf-8")
    return [program, "-c", str(file), "-e", str(directory / "error.log"), "-p", str(directory)]


PROFILES: dict[str, Profile] = {
    "memcached": Profile("memcached", "memcached", "memcached", "mc-worker", _memcached),
    "redis": Profile("redis-server", "redis-server", "redis", "redis-server", _redis),
    "nginx": Profile("nginx-light", "nginx", "http", "nginx", _nginx),
}


def value_of(key: int, length: int) -> bytes:
    """The value of a key: hexadecimal digits of splitmix64's mix, the lowest first, over and over (native/client/dialect.cc)."""
    word = key
    word = ((word ^ word >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ word >> 27) * 0x94D049BB133111EB) & _MASK
    word ^= word >> 31
    digits = f"{word:016x}"[::-1].encode()
    return (digits * (length // len(digits) + 1))[:length]


def find_server(kind: Kind) -> str:
    """Its program. Raises UserError with the package that has it."""
    profile = PROFILES[kind]
    found = shutil.which(profile.program, path=f"{os.environ.get('PATH', os.defpath)}:{_SBIN}")
    if found is None:
        raise UserError(f"no {profile.program} on this system", remedy=f"apt-get install {profile.package}")
    return found


def version_of(kind: Kind) -> str:
    """Its number, as the program says it: "1.6.18"."""
    words = [find_server(kind), "-v" if kind == "nginx" else "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    said = done.stdout + done.stderr
    found = re.search(r"\d+(\.\d+)+", said)
    return found[0] if found else said.strip()[:80]


class Server:
    """One running server. Leave its context and it is gone, with its directory.

    Raises UserError where it is not installed, or does not come up.
    """

    def __init__(
        self,
        kind: Kind,
        directory: Path,
        *,
        cpu: int,
        polling: bool,
        content: Content = Content(),
        name: str | None = None,
    ):
        """`directory` is made, and must not be there yet."""
        self.kind, self.polling, self.content, self.name = kind, polling, content, name or kind
        self.profile = PROFILES[kind]
        self.directory = directory.absolute()
        program = find_server(kind)
        shim = find_native(POLL_SHIM, ROOM) if polling else None
        self.directory.mkdir(parents=True)
        self.port = _free_port()
        env = {"LD_PRELOAD": str(shim), "WINDTUNNEL_POLL_THREADS": self.profile.worker} if shim else {}
        command: Sequence[str] = self.profile.command(program, self.directory, self.port, content)
        self._kept = Kept(command, log=self.directory / "log", cpu=cpu, env=env)
        try:
            self.worker = self._wait_until_up()
            """The thread that serves."""
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        return self._kept.pid

    @property
    def running(self) -> bool:
        return self._kept.running

    @property
    def mode(self) -> str:
        """As every result says it."""
        return "always polling (preloaded shim)" if self.polling else "as it is (blocks)"

    def _wait_until_up(self) -> int:
        """The thread that serves, once the server listens."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if not self._kept.running:
                raise UserError(f"{self.kind} ended at once: {self._said()}")
            if _listens(self.port) and (worker := _thread(self.pid, self.profile.worker)):
                return worker
            time.sleep(0.01)
        raise UserError(f"{self.kind} does not listen after {PATIENCE_S:g} s: {self._said()}")

    def _said(self) -> str:
        error = self.directory / "error.log"
        return error.read_text(errors="backslashreplace").strip()[-500:] if error.exists() else self._kept.tail()

    def stop(self) -> None:
        self._kept.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _thread(pid: int, name: str) -> int | None:
    """The first whose name begins so."""
    return next((tid for tid in threads.threads_of(pid) if threads.name(tid).startswith(name)), None)


def _free_port() -> int:
    """A free port. Another program may take it before its use: then the server reports it."""
    with socket.socket() as found:
        found.bind((ADDRESS, 0))
        port: int = found.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((ADDRESS, port)) == 0
