"""The binding of the server: loopback, a Unix socket, or an address beyond loopback, which needs a file of the token and TLS files."""

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.exchange import http_server
from windtunnel.exchange.address import Address
from windtunnel.exchange.connections import ListeningSocket
from windtunnel.parts.ui.guard import Allowed
from windtunnel.parts.ui.sign_in import FIELD

LOOPBACK = ("127.0.0.1", "::1")


@dataclass(frozen=True)
class RemoteAccess:
    """The access token and the TLS files that an address needs which other hosts can reach."""

    token: str
    certificate: Path
    key: Path


@dataclass(frozen=True)
class Binding:
    """An address or socket path, and the token. `remote`: only for an address that other hosts can reach; its token is that of the file."""

    address: Address | Path
    remote: RemoteAccess | None = None
    own_token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    name: str = field(default_factory=lambda: f"wt-{secrets.token_hex(8)}.localhost")
    """A host name for this start only. Browsers resolve every name below localhost to loopback (RFC 6761, section 6.3)."""

    @property
    def token(self) -> str:
        """The token with which a browser signs in."""
        return self.remote.token if self.remote else self.own_token


def binding_of(
    address: Address, token: Path | None = None, certificate: Path | None = None, key: Path | None = None
) -> Binding:
    """The binding of an address. Raises UserError for an address beyond loopback without the files, for unfit files, and for files that loopback does
    not need."""
    files = {"--token": token, "--tls-certificate": certificate, "--tls-key": key}
    listen_option = f"--listen {address.host}:{address.port}"
    if address.host in LOOPBACK:
        if unneeded := [name for name, file in files.items() if file]:
            raise UserError(
                f"{unneeded[0]}: for an address beyond loopback", remedy="leave it out, or name one by --listen"
            )
        return Binding(address)
    if token is None or certificate is None or key is None:
        missing = " and ".join(name for name, file in files.items() if file is None)
        raise UserError(
            f"{listen_option}: not loopback, and anybody who can reach the pages could stop runs: {missing} missing",
            remedy=f"give the files, or listen on loopback, and from another host: ssh -L {address.port}:127.0.0.1:{address.port} THIS-HOST",
        )
    http_server.check_tls(certificate, key)
    return Binding(address, RemoteAccess(http_server.token_of(token), certificate, key))


@contextlib.contextmanager
def listen(binding: Binding) -> Iterator[list[ListeningSocket]]:
    """The listening sockets of a binding. Raises UserError if it cannot listen."""
    address = binding.address
    if isinstance(address, Path):
        with http_server.unix_socket(address) as unix:
            yield [unix]
        return
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(http_server.tcp_socket(address))
        if binding.remote:
            yield [first]
            return
        # A browser tries both addresses of loopback, and another user must not have the other one.
        (other_loopback,) = (Address(host, first.getsockname()[1]) for host in LOOPBACK if host != address.host)
        yield [
            first,
            *(
                [stack.enter_context(http_server.tcp_socket(other_loopback))]
                if _is_of_this_host(other_loopback)
                else []
            ),
        ]


def _is_of_this_host(address: Address) -> bool:
    """Whether this host has the address: its kernel may be without IPv6."""
    try:
        http_server.tcp_socket(replace(address, port=0)).close()
    except UserError:
        return False
    return True


def access_rules(binding: Binding, sockets: list[ListeningSocket]) -> Allowed:
    """The rules for requests."""
    if binding.remote:
        return Allowed("tls", binding.name)
    if isinstance(binding.address, Path):
        return Allowed("unix", binding.name)
    return Allowed("loopback", binding.name, sockets[0].getsockname()[1])


def address_text(binding: Binding, sockets: list[ListeningSocket]) -> str:
    """The address to open in a browser, with the token unless that is in a file."""
    if binding.remote:
        return f"https://{http_server.shown(sockets[0])}/"
    if isinstance(binding.address, Path):
        return f"{binding.address}; through ssh -L PORT:{binding.address} it is http://{binding.name}:PORT/?{FIELD}={binding.token}"
    return f"http://{binding.name}:{sockets[0].getsockname()[1]}/?{FIELD}={binding.token}"
