"""What survives a restart: what is wanted for each tenant, and which processes were taken in. Written whole or not at all.

Schema 1: {"schema": 1, "boot", "tenants": [{name, first, wish, added: null or {pid, started, threads}, named: null or {pid, started}}]}. `first`
is what the file of tenants said: where it says something else by now, the file holds. `named` is the process that had the file's `pid`.
"""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from windtunnel.api.errors import UserError
from windtunnel.api.files import own_directory, replace
from windtunnel_sharing import journal
from windtunnel_sharing.daemon.allocation import Sharing
from windtunnel_sharing.daemon.keys import MOST_TENANTS, Name, Pattern, Pid, TenantKeys
from windtunnel_sharing.daemon.roster import Wish, first_wish
from windtunnel_sharing.threads import Process

SCHEMA = 1
MOST_BYTES = 4 << 20


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class KeptNumber(_Part):
    pid: Pid
    started: Annotated[int, Field(ge=0, lt=1 << 63)]


class KeptProcess(KeptNumber):
    threads: Pattern


class KeptTenant(_Part):
    name: Name
    first: Wish
    wish: Wish
    added: KeptProcess | None
    named: KeptNumber | None = None

    def keys(self) -> TenantKeys | None:
        """Of a tenant that was taken in through the API and whose process is still there."""
        if self.added is None or not Process(self.added.pid, self.added.started).lives:
            return None
        return TenantKeys(name=self.name, pid=self.added.pid, threads=self.added.threads)


class State(_Part):
    """The file's content."""

    schema_: int = Field(SCHEMA, alias="schema")
    boot: str | None = None
    tenants: Annotated[list[KeptTenant], Field(max_length=MOST_TENANTS)] = []

    def _of(self, keys: TenantKeys) -> KeptTenant | None:
        return next((tenant for tenant in self.tenants if tenant.name == keys.name), None)

    def named_by(self, keys: TenantKeys) -> int | None:
        """Start of the process that the `pid` of a tenant of the file named before; None where that is not known."""
        kept = self._of(keys)
        if kept is None or kept.named is None or kept.named.pid != keys.pid or self.boot != journal.boot():
            return None
        return kept.named.started

    def wish_of(self, keys: TenantKeys) -> Wish | None:
        """What was wanted last for a tenant of the file; None where the file says something else than then."""
        kept = self._of(keys)
        return kept.wish if kept and kept.first == first_wish(keys) else None


def read(path: Path) -> State:
    """Nothing where there is no file. Raises UserError for one that is not ours alone or of another version."""
    remedy = f"move {path} away to start from the file of tenants"
    try:
        state = State.model_validate_json(own_directory.read(path, MOST_BYTES))
    except FileNotFoundError:
        return State()
    except UserError as error:
        raise UserError(error.message, remedy) from None
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, fault["loc"]))
        raise UserError(f"{path}: not a state of the daemon: {where}: {fault['msg']}", remedy) from None
    if state.schema_ != SCHEMA:
        raise UserError(f"{path}: schema {state.schema_}, this windtunnel reads schema {SCHEMA}", remedy)
    return state


def write(path: Path, sharing: Sharing) -> None:
    """Raises UserError where it cannot; then the one before is still there."""
    try:
        replace(path, of(sharing).model_dump_json(by_alias=True) + "\n", mode=0o600)
    except UserError as error:
        raise UserError(error.message, remedy="free some space there") from None


def of(sharing: Sharing) -> State:
    tenants = []
    for tenant in sharing.tenants.values():
        added = None
        if tenant.added and tenant.pid is not None and (started := tenant.processes.get(tenant.pid)) is not None:
            added = KeptProcess(pid=tenant.pid, started=started, threads=tenant.keys.threads)
        number, named = tenant.keys.pid, None
        if not tenant.added and number is not None and tenant.named is not None:
            named = KeptNumber(pid=number, started=tenant.named)
        tenants.append(
            KeptTenant(name=tenant.name, first=first_wish(tenant.keys), wish=tenant.wish, added=added, named=named)
        )
    return State(boot=journal.boot(), tenants=tenants)
