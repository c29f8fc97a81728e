"""The tenants of a share daemon, from its API on its Unix socket. This module does not need `windtunnel_sharing`."""

import os
import stat
from typing import Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, ValidationError

from windtunnel.errors import UserError

TIMEOUT_S = 5.0
CPU = 256
"""Weight of one CPU."""


class ApiModel(BaseModel):
    """The fields of a body that the page shows; a body has more."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Report(ApiModel):
    p99_ns: int | None = None


class Tenant(ApiModel):
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
    told: Report | None

    @property
    def most(self) -> int:
        """The largest weight of its slider: its own limit, else a CPU for each thread."""
        return max(self.weight, self.max or CPU * max(1, len(self.threads)))

    @property
    def misses(self) -> bool:
        """Whether its last p99 was above its objective."""
        return bool(self.told and self.told.p99_ns and self.slo_p99_ns and self.told.p99_ns > self.slo_p99_ns)


class Pools(ApiModel):
    ls: list[int]
    be: list[int]
    slicer: str
    slice_ns: int
    weight: int
    room: int


class Tenants(ApiModel):
    """`trouble`: why the rest is not known any more."""

    pools: Pools | None = None
    tenants: list[Tenant] = []
    trouble: str | None = None


async def read(socket: str) -> Tenants:
    """The tenants of a daemon. If the daemon has gone or sends something else, `trouble` is set and nothing is raised."""
    try:
        pools, tenants = await _ask(socket, "GET", "/v1/pools"), await _ask(socket, "GET", "/v1/tenants")
        return Tenants.model_validate({"pools": pools, "tenants": tenants})
    except ValidationError:
        return Tenants(trouble="what the daemon sends cannot be read: another version of windtunnel")
    except UserError as error:
        return Tenants(trouble=error.message)


async def set_weight(socket: str, name: str, weight: int) -> None:
    """Sets the weight of a tenant. Raises UserError with the daemon's message."""
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
            document = response.json() if response.content else None
    except (httpx.HTTPError, ValueError) as error:
        raise UserError(f"the daemon sends nothing: {type(error).__name__}") from None
    if response.status_code >= 400:
        fault = document if isinstance(document, dict) else {}
        raise UserError(str(fault.get("error", f"status {response.status_code}")), fault.get("remedy"))
    return document


def _is_ours(socket: str) -> bool:
    """Whether this user owns the socket. The path comes from another process, so its owner is read from the kernel."""
    try:
        status = os.lstat(socket)
    except OSError:
        return False
    return stat.S_ISSOCK(status.st_mode) and status.st_uid == os.geteuid()
