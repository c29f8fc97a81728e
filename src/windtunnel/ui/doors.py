"""Where the pages are reached, and what has to be there: loopback, a Unix socket, or beyond loopback a file of the token and TLS files."""

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.exchange import http_server
from windtunnel.exchange.address import Address
from windtunnel.exchange.connections import ListeningSocket
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
    name: str = field(default_factory=lambda: f"wt-{secrets.token_hex(4)}.localhost")
    """Of this host, for this start alone. Browsers take every name below localhost for loopback (RFC 6761, section 6.3)."""

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
            f"{shown}: not loopback, and anybody who can reach the pages could stop runs: {missing} missing",
            remedy=f"give the files, or listen on loopback, and from another host: ssh -L {address.port}:127.0.0.1:{address.port} THIS-HOST",
        )
    http_server.check_tls(certificate, key)
    return Door(address, Beyond(http_server.token_of(token), certificate, key))


@contextlib.contextmanager
def listening(door: Door) -> Iterator[list[ListeningSocket]]:
    """Raises UserError where one cannot listen there."""
    address = door.address
    if isinstance(address, Path):
        with http_server.unix_socket(address) as made:
            yield [made]
        return
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(http_server.tcp_socket(address))
        if door.beyond:
            yield [first]
            return
        # A browser tries both addresses of loopback, and another user must not have the other one.
        (other,) = (Address(host, first.getsockname()[1]) for host in LOOPBACK if host != address.host)
        yield [first, *([stack.enter_context(http_server.tcp_socket(other))] if _is_of_this_host(other) else [])]


def _is_of_this_host(address: Address) -> bool:
    """The kernel may be without IPv6."""
    try:
        http_server.tcp_socket(replace(address, port=0)).close()
    except UserError:
        return False
    return True


def allowed(door: Door, made: list[ListeningSocket]) -> Allowed:
    """What a request must have."""
    if door.beyond:
        return Allowed("tls", door.name)
    if isinstance(door.address, Path):
        return Allowed("unix", door.name)
    return Allowed("loopback", door.name, made[0].getsockname()[1])


def shown(door: Door, made: list[ListeningSocket]) -> str:
    """For who opens the pages: an address, with the token unless that is in a file."""
    if door.beyond:
        return f"https://{http_server.shown(made[0])}/"
    if isinstance(door.address, Path):
        return f"{door.address}\nthrough ssh -L PORT:{door.address}: http://{door.name}:PORT/?{FIELD}={door.token}"
    return f"http://{door.name}:{made[0].getsockname()[1]}/?{FIELD}={door.token}"
