"""A simulation as a TOML file: one plan, or several variants of it to compare."""

from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from windtunnel.api.errors import UserError
from windtunnel.api.files import read_text
from windtunnel.api.settings import Duration, Quantity, Refusal, Size, dotted, shown, validated
from windtunnel_sharing.simulate.plan import (
    MOST_TENANTS,
    SECOND,
    Change,
    Distribution,
    Machine,
    Noise,
    Phase,
    Plan,
    Pool,
    Tenant,
    bounded,
)

MOST_BYTES = 1 << 20
HELP = 'the page "Sharing" shows every key; `windtunnel share simulate fig11-six-cores --toml` prints an example'


Ns = Annotated[int, Duration("0ns", "1h")]
Bytes = Annotated[int, Size("0B", "1024GiB")]
Rate = Annotated[float, Quantity("rate", "0/s", "100M/s")]
"""Requests per second."""


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PhasePart(Part):
    begin: Ns = Field(alias="from")
    rate: Rate


class TenantPart(Part):
    name: str = Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")
    count: int = Field(1, ge=1, le=10_000, description="number of such tenants; their names are numbered")
    weight: int | list[int] = 256
    polls: bool = True
    rate: Rate | None = None
    phases: list[PhasePart] = []
    service: Ns = 2000
    distribution: Distribution = "fixed"
    working_set: Bytes = 0
    queue: int | None = 1024
    pool: Pool = "ls"
    threads: int = 1
    cores: list[int] | None = None


class NoisePart(Part):
    per_second: float = 0
    mean: Ns = 0


class MachinePart(Part):
    cores: int = 1
    tick: Ns = 4_000_000
    switch: Ns = 1500
    kick: Ns = 5500
    late: Ns = 1500
    late_sd: Ns = 1500
    cold: Ns = 0
    base_slice: Ns = 1_400_000
    l2: Bytes = 1 << 20
    miss: float = 44.0
    touch: float = 75.0
    noise: NoisePart = NoisePart()


class ChangePart(Part):
    at: Ns
    weights: dict[str, int]


class VariantPart(Part):
    """What one variant changes. `pin` and `weights`: a tenant, or all of a count -> its cores, its weight."""

    name: str
    policy: str | None = None
    slice: Ns | None = None
    pin: dict[str, list[int]] = {}
    changes: bool = True
    weights: dict[str, int] = {}


class FilePart(Part):
    title: str = ""
    question: str = ""
    policy: str = "kicker"
    slice: Ns = 120_000
    duration: Ns = 2 * SECOND
    warmup: Ns = 0
    seed: int = Field(1, ge=0)
    machine: MachinePart = MachinePart()
    tenant: list[TenantPart] = Field(min_length=1)
    change: list[ChangePart] = []
    variant: list[VariantPart] = []


def shipped() -> list[str]:
    """Names of the shipped files."""
    folder = files("windtunnel_sharing.simulate").joinpath("shipped")
    return sorted(path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml"))


def text_of(name: str) -> str:
    """Raises UserError where there is no such file."""
    if name in shipped():
        return files("windtunnel_sharing.simulate").joinpath("shipped", f"{name}.toml").read_text(encoding="utf-8")
    if not name.endswith(".toml"):
        raise UserError(f'no simulation "{name}"', remedy=f"{', '.join(shipped())}, or a file of your own (.toml)")
    return read_text(Path(name), MOST_BYTES, HELP)


def read(name: str) -> tuple[FilePart, dict[str, Plan]]:
    """The file, and its plans by the names of its variants; "" where it has none. Raises UserError with file and line."""
    file, text = Path(name), text_of(name)
    part = validated(FilePart, file, text, _refusal)
    try:
        bounded("tenants", sum(one.count for one in part.tenant), 1, MOST_TENANTS)  # before any is made
        plan = _plan(part)
        return part, {one.name: _varied(plan, one, part) for one in part.variant} or {"": plan}
    except UserError as error:
        raise UserError(f"{file}: {error.message}", remedy=error.remedy) from None


def _refusal(error: Any) -> Refusal:
    path = tuple(error["loc"])
    if error["type"] == "extra_forbidden":
        return Refusal(path, f'unknown key "{dotted(path)}"', HELP)
    if error["type"] == "missing":
        return Refusal(path, f"{dotted(path)} is missing", HELP)
    if error["type"] == "value_error":
        return Refusal(path, f"{dotted(path)}: {error['ctx']['error']}", HELP)
    return Refusal(path, f"{dotted(path)} is {shown(error['input'])}", error["msg"])


def _plan(part: FilePart) -> Plan:
    host = part.machine
    machine = Machine(
        cores=host.cores,
        tick_ns=host.tick,
        switch_ns=host.switch,
        kick_ns=host.kick,
        late_ns=host.late,
        late_sd_ns=host.late_sd,
        cold_ns=host.cold,
        base_slice_ns=host.base_slice,
        l2_bytes=host.l2,
        miss_ns=host.miss,
        touch_ns=host.touch,
        noise=Noise(host.noise.per_second, host.noise.mean),
    )
    return Plan(
        tuple(tenant for one in part.tenant for tenant in _tenants(one)),
        part.policy,
        part.slice,
        part.duration,
        part.warmup,
        part.seed,
        machine,
        tuple(Change(one.at, one.weights) for one in part.change),
    )


def _tenants(part: TenantPart) -> list[Tenant]:
    if part.rate is not None and part.phases:
        raise UserError(f"tenant {part.name}: rate and phases exclude each other", remedy="give one of them")
    weights = part.weight if isinstance(part.weight, list) else [part.weight] * part.count
    if len(weights) != part.count:
        raise UserError(
            f"tenant {part.name}: {len(weights)} weights for {part.count} tenants", remedy="one number, or one for each"
        )
    begins = [one.begin for one in part.phases]
    if begins != sorted(begins):
        raise UserError(f"tenant {part.name}: phases out of order", remedy="sort them by `from`")
    phases = tuple(Phase(one.begin, one.rate) for one in part.phases)
    if part.rate is not None:
        phases = (Phase(0, part.rate),)
    one = Tenant(
        part.name,
        polls=part.polls,
        phases=phases,
        service_ns=part.service,
        distribution=part.distribution,
        working_set=part.working_set,
        queue=part.queue,
        pool=part.pool,
        threads=part.threads,
        cores=None if part.cores is None else tuple(part.cores),
    )
    names = [part.name] if part.count == 1 else [f"{part.name}{number}" for number in range(1, part.count + 1)]
    return [replace(one, name=name, weight=weight) for name, weight in zip(names, weights, strict=True)]


def _varied(plan: Plan, variant: VariantPart, part: FilePart) -> Plan:
    pins, weights = _each(variant, variant.pin, part), _each(variant, variant.weights, part)
    return replace(
        plan,
        policy=variant.policy or plan.policy,
        slice_ns=variant.slice or plan.slice_ns,
        tenants=tuple(
            replace(t, cores=tuple(pins[t.name]) if t.name in pins else t.cores, weight=weights.get(t.name, t.weight))
            for t in plan.tenants
        ),
        changes=plan.changes if variant.changes else (),
    )


def _each(variant: VariantPart, given: dict[str, Any], part: FilePart) -> dict[str, Any]:
    """Expands the name of a count to each of its tenants. Raises UserError for an unknown name."""
    names = {one.name: [tenant.name for tenant in _tenants(one)] for one in part.tenant}
    names |= {name: [name] for several in list(names.values()) for name in several}
    if unknown := given.keys() - names.keys():
        raise UserError(
            f"variant {variant.name} names {min(unknown)}, which is not a tenant",
            remedy=f"one of {', '.join(sorted(names))}",
        )
    return {name: value for key, value in given.items() for name in names[key]}
