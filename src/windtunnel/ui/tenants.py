"""The tenants of a share daemon, by its own API on its Unix socket; nothing of `windtunnel.sharing` is needed here."""

import os
import stat
from typing import Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, ValidationError

from windtunnel.errors import UserError

TIMEOUT_S = 5.0
CPU = 256
"""Weight of one CPU."""


class Seen(BaseModel):
    """What this page takes of a body; there is more in it."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Told(Seen):
    p99_ns: int | None = None


class Tenant(Seen):
    name: str
    number: int
    pool: Literal["ls", "be"]
    parked: bool
    pid: int | None
    threads: list[int]
    weight: int
    min: int
    max: int | None
    slo_p99_ns: int | None
    cpus: list[int]
    entitled: float
    autoscaled: bool
    told: Told | None

    @property
    def most(self) -> int:
        """The most weight that a slider offers: its own limit, else a CPU for each thread."""
        return max(self.weight, self.max or CPU * max(1, len(self.threads)))

    @property
    def misses(self) -> bool:
        """Its last p99 was above its objective."""
        return bool(self.told and self.told.p99_ns and self.slo_p99_ns and self.told.p99_ns > self.slo_p99_ns)


class Pools(Seen):
    ls: list[int]
    be: list[int]
    slicer: str
    slice_ns: int
    weight: int
    room: int


class Tenants(Seen):
    """`trouble`: why the rest is not known any more."""

    pools: Pools | None = None
    tenants: list[Tenant] = []
    trouble: str | None = None


async def read(socket: str) -> Tenants:
    """Raises nothing for a daemon that has gone or sends something else: that is `trouble`."""
    try:
        pools, tenants = await _ask(socket, "GET", "/v1/pools"), await _ask(socket, "GET", "/v1/tenants")
        return Tenants.model_validate({"pools": pools, "tenants": tenants})
    except ValidationError:
        return Tenants(trouble="what the daemon sends cannot be read: another version of windtunnel")
    except UserError as error:
        return Tenants(trouble=error.message)


async def set_weight(socket: str, name: str, weight: int) -> None:
    """Raises UserError in the daemon's words."""
    await _ask(socket, "PATCH", f"/v1/tenants/{quote(name, safe='')}", {"weight": weight})


async def _ask(socket: str, method: str, path: str, body: Any = None) -> Any:
    import httpx

    if not _is_ours(socket):
        raise UserError(f"{socket}: not a socket of this user")
    try:
        async with httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=socket, verify=False),
            base_url="http://windtunnel",
            timeout=TIMEOUT_S,
        ) as client:
            response = await client.request(method, path, json=body)
            found = response.json() if response.content else None
    except (httpx.HTTPError, ValueError) as error:
        raise UserError(f"the daemon sends nothing: {type(error).__name__}") from None
    if response.status_code >= 400:
        words = found if isinstance(found, dict) else {}
        raise UserError(str(words.get("error", f"status {response.status_code}")), words.get("remedy"))
    return found


def _is_ours(socket: str) -> bool:
    """What is said of a socket is what its process says: the kernel is asked too."""
    try:
        found = os.lstat(socket)
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.geteuid()
