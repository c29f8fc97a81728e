"""Where the pages are reached, and what has to be there: loopback, a Unix socket, or beyond loopback a file of the token and TLS files."""

import contextlib
import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.exchange import http_server
from windtunnel.exchange.address import Address
from windtunnel.ui.guard import Allowed
from windtunnel.ui.sign_in import FIELD

LOOPBACK = ("127.0.0.1", "::1")


@dataclass(frozen=True)
class Beyond:
    """What an address that other hosts reach needs: the access token, and files of TLS."""

    token: str
    certificate: Path
    key: Path


@dataclass(frozen=True)
class Door:
    """`beyond`: with an address that other hosts reach, and with no other; its token is that of the file."""

    address: Address | Path
    beyond: Beyond | None = None
    own_token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def token(self) -> str:
        """What a browser signs in with."""
        return self.beyond.token if self.beyond else self.own_token


def door_of(
    address: Address, token: Path | None = None, certificate: Path | None = None, key: Path | None = None
) -> Door:
    """Raises UserError for an address beyond loopback without the files, for files that are unfit, and for files that loopback does not need."""
    files = {"--token": token, "--tls-certificate": certificate, "--tls-key": key}
    shown = f"--listen {address.host}:{address.port}"
    if address.host in LOOPBACK:
        if given := [name for name, file in files.items() if file]:
            raise UserError(
                f"{given[0]}: for an address beyond loopback", remedy="leave it out, or name one by --listen"
            )
        return Door(address)
    if token is None or certificate is None or key is None:
        missing = " and ".join(name for name, file in files.items() if file is None)
        raise UserError(
            f"{shown}: not loopback, and whoever reaches the pages may stop runs: {missing} missing",
            remedy=f"give the files, or listen on loopback, and from another host: ssh -L {address.port}:127.0.0.1:{address.port} THIS-HOST",
        )
    http_server.check_tls(certificate, key)
    return Door(address, Beyond(http_server.token_of(token), certificate, key))


@contextlib.contextmanager
def listening(door: Door) -> Iterator[socket.socket]:
    """Raises UserError where one cannot listen there."""
    address = door.address
    if isinstance(address, Path):
        with http_server.unix_socket(address) as made:
            try:
                yield made
            finally:
                address.unlink(missing_ok=True)
        return
    text = f"[{address.host}]:{address.port}" if ":" in address.host else f"{address.host}:{address.port}"
    with http_server.tcp_socket(text) as made:
        yield made


def allowed(door: Door, made: socket.socket) -> Allowed:
    """What a request must have."""
    if made.family == socket.AF_UNIX:
        return Allowed("unix")
    return Allowed("tls") if door.beyond else Allowed("loopback", made.getsockname()[1])


def shown(door: Door, made: socket.socket) -> str:
    """For who opens the pages: an address, with the token unless that is in a file."""
    where = http_server.shown(made)
    if made.family == socket.AF_UNIX:
        return f"{where}\nthrough ssh -L PORT:{where}: http://localhost:PORT/?{FIELD}={door.token}"
    return f"https://{where}/" if door.beyond else f"http://{where}/?{FIELD}={door.token}"
