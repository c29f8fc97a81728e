"""Who may ask what of the daemon, whose API has all of its rights.

The Unix socket is its owner's, who may do everything. Over TCP a token says what its holder may: everything, read, or report of one tenant.
The report socket is everybody's, and takes reports of a tenant from its own processes alone, which the kernel names.
"""

import re
from collections.abc import Callable, Mapping
from hmac import compare_digest
from pathlib import Path
from types import MappingProxyType
from typing import Any

from windtunnel.api.errors import UserError
from windtunnel.api.http import connections, http_server
from windtunnel_sharing import threads
from windtunnel_sharing.daemon import tenant_file
from windtunnel_sharing.daemon.allocation import Sharing
from windtunnel_sharing.daemon.find_tenant import user_of
from windtunnel_sharing.daemon.keys import Serve, TenantKeys

Right = Callable[[str, str], bool]
"""Whether its holder may use a method of a path."""
_REPORT = re.compile(r"/v1/tenants/([^/]+)/report")
HOLDER = "windtunnel.holder"
"""In the state of a request with a token: which one. Several holders may share what there is a bounded number of."""
BATCH = "/v1/batch"
MOST_HEAD, MOST_BODY = 8 << 10, 4 << 10
"""Bytes of a request: of its head, and of its body unless that is a batch."""
NOT_KNOWN, NOT_ALLOWED = (401, "a token is needed"), (403, "this token may not do that")
NOT_ITS_OWN = (403, "here a process reports of its own tenant, and asks for nothing else")


class Tokens:
    """What each token is good for."""

    def __init__(self, rights: Mapping[str, Right], unfit: Mapping[str, UserError] = MappingProxyType({})):
        self.unfit = unfit
        """Why tenants have no token, by their names."""
        self._rights = [(token.encode(), right) for token, right in rights.items()]

    def __call__(self, scope: Any) -> http_server.Refusal | None:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        kind, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
        found = [number for number, (known, _) in enumerate(self._rights) if compare_digest(token.strip(), known)]
        if kind.lower() != b"bearer" or not found:
            return NOT_KNOWN
        http_server.prove(scope)
        scope.setdefault("state", {})[HOLDER] = found[0]
        return None if self._rights[found[0]][1](scope["method"], scope["path"]) else NOT_ALLOWED


def tokens_of(keys: Serve, base: Path) -> Tokens:
    """Of the files that the keys name, relative to `base`. Raises UserError for a file of the daemon's that is unfit, or has the token of another
    one. A tenant with such a file has no token, and all others have theirs: it may be the tenant that made it unfit."""
    named: list[tuple[str, Right]] = []
    if keys.api.token_file:
        named.append((keys.api.token_file, _everything))
    if keys.api.read_token_file:
        named.append((keys.api.read_token_file, _read))
    rights: dict[str, Right] = {}
    for file, right in named:
        _add(rights, base / file, http_server.token_of(base / file), right)
    unfit: dict[str, UserError] = {}
    for tenant in keys.tenant:
        if tenant.report_token_file:
            path = base / tenant.report_token_file
            try:
                _add(rights, path, _token_of_tenant(tenant, path), _report_of(tenant.name))
            except UserError as error:
                unfit[tenant.name] = error
    return Tokens(rights, unfit)


def _add(rights: dict[str, Right], path: Path, token: str, right: Right) -> None:
    if token in rights:
        raise http_server.token_error(path, "the token of another file, which has other rights")
    rights[token] = right


def _token_of_tenant(tenant: TenantKeys, path: Path) -> str:
    """Raises UserError as `token_of`, and for a file that may be of somebody else: the tenant may put a link there."""
    try:
        found = tenant_file.read(tenant.name, path, user_of(tenant), http_server.MOST_HEAD)
    except OSError as error:
        raise http_server.unreadable_token(path, error) from None
    return http_server.token_in(path, found.text, found.mode)


class OwnReports:
    """For a socket to which everybody may connect."""

    def __init__(self, sharing: Sharing):
        self._sharing = sharing

    def __call__(self, scope: Any) -> http_server.Refusal | None:
        match = _REPORT.fullmatch(scope["path"])
        tenant = self._sharing.tenants.get(match[1]) if match and scope["method"] == "POST" else None
        peer = scope.get("state", {}).get(http_server.PEER)
        if tenant is None or peer is None or peer.pid not in tenant.processes:
            return NOT_ITS_OWN
        its_own = threads.process_started(peer.pid) == tenant.processes[peer.pid] and peer.lives()
        return None if its_own else NOT_ITS_OWN


def reporter(sharing: Sharing, client: connections.Client) -> connections.Holder:
    """Whose a connection to the report socket is: a tenant has places that those of other tenants, of its own user too, do not take."""
    holder = connections.holder_of(client)
    if holder.rank == connections.Rank.OWN:
        return holder
    names = (tenant.name for tenant in sharing.tenants.values() if client.pid in tenant.processes)
    name = next(names, None)
    return connections.Holder(("tenant", name), connections.Rank.KNOWN) if name is not None else holder


def most_body(scope: Any) -> int:
    """Bytes: many changes come in a batch alone."""
    return http_server.MOST_BODY if scope["path"] == BATCH else MOST_BODY


def _everything(method: str, path: str) -> bool:
    return True


def _read(method: str, path: str) -> bool:
    return method in ("GET", "HEAD")


def _report_of(name: str) -> Right:
    return lambda method, path: method == "POST" and path == f"/v1/tenants/{name}/report"
