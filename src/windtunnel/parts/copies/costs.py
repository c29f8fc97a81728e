"""Costs of copies of payload on this host, by the CPU and by copiers, and the size from which on a copier frees the core.

No scenario is run. The engine measures (engine/parts/copies/copiers/costs.h); the same code decides the meaning of `at_least = "auto"` in a run.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from windtunnel.engine.find import find_engine
from windtunnel.engine.leftovers import remove_files
from windtunnel.engine.plan import Eal
from windtunnel.errors import UserError
from windtunnel.host.facts import allowed_cpus, hugepages
from windtunnel.host.levels import GAP
from windtunnel.parts.copies.engine_profiles import Profile, load_profile
from windtunnel.parts.copies.query import Copier, CopierHead, CopyCosts, copiers, copy_costs
from windtunnel.parts.copies.resources import pci_addresses
from windtunnel.scenario.memory import eal

SIZES = tuple(256 << n for n in range(14))
"""256 B to 2 MiB."""
AREA_BYTES = 128 << 20
"""Bytes of the source, and of the destination: larger than most caches."""
MEMORY_BYTES = 2 * AREA_BYTES + (128 << 20)
ROUNDS, BATCH = 15, 32
CPU = "cpu"
"""The copier that all others are compared with."""


class Measured(BaseModel):
    """One copier."""

    model_config = ConfigDict(frozen=True)

    copier: CopierHead
    depth: int
    batch: int
    costs: list[CopyCosts] = Field(description="ascending by size; of each size cold, then hot")
    trip_ns_after: float | None = Field(
        description="round trip of a small copy to the copier's thread, after all sizes"
    )

    @property
    def is_loop(self) -> bool:
        """Whether the worker itself copies: a core, and no thread beside it."""
        return self.copier.kind == "core" and self.copier.cpu is None

    @property
    def moved(self) -> bool:
        """Whether the round trip to its thread changed during the measurement, because the hypervisor moved a CPU."""
        before, after = self.copier.trip_ns, self.trip_ns_after
        return before is not None and after is not None and max(before, after) > GAP * min(before, after)

    def break_even(self, hot: bool) -> int | None:
        """The least size in bytes from which on each copy takes fewer cycles of the worker than one by the CPU. None: not even the
        largest does."""
        least_bytes = None
        for cost in reversed([cost for cost in self.costs if cost.hot == hot]):
            if cost.caller_cycles >= cost.cpu_cycles:
                break
            least_bytes = cost.bytes
        return least_bytes

    def gbps(self, bytes_: int, cycles: float) -> float:
        """Gbit/s of copies of this size that take so many TSC cycles each."""
        return bytes_ * 8 * self.copier.tsc_hz / cycles / 1e9


def measure(
    depth: int,
    device: str | None = None,
    cpu: int | None = None,
    profile: str | None = None,
    files: Sequence[str] = (),
) -> list[Measured]:
    """Measures each copier of the engine that moves bytes itself, which takes seconds. `cpu`: the worker's CPU, by default the last allowed one.
    `device`: that of a copier with devices; None: DPDK's software engine, which is left out on a host with one CPU. `profile`: that of a
    modelled engine; None: none is measured. `files`: copiers of the user's own, by path, with their default options.

    These are the last of what is returned. Raises UserError."""
    modelled = load_profile(profile) if profile else None
    allowed = allowed_cpus()
    own = allowed[-1] if cpu is None else cpu
    if own not in allowed:
        choices = ", ".join(map(str, allowed))
        raise UserError(f"CPU {own} does not exist, or is not allowed", remedy=f"--cpu: one of {choices}")
    other_cpus = [other_cpu for other_cpu in allowed if other_cpu != own]
    engine = find_engine()
    # first, because one of them may be wrong, and the others take seconds
    of_files = [
        _measured_file(engine, file, copier, depth, own) for file in files for copier in copiers(engine, Path(file))
    ]
    measurements = []
    for copier in copiers(engine):
        options = _options(copier, device, profile, has_other=bool(other_cpus))
        if options is not None:
            model = modelled if copier.profile_option else None
            measurements.append(_measured(engine, copier, depth, options, own, other_cpus[-1:], model))
    return measurements + of_files


def _measured_file(engine: Path, file: str, copier: Copier, depth: int, own: int) -> Measured:
    """A copier in a file, which goes by the path that the user has given."""
    by_path = copier.model_copy(update={"name": str(Path(file).absolute())})
    measured = _measured(engine, by_path, depth, {}, own, [], None)
    return measured.model_copy(update={"copier": measured.copier.model_copy(update={"engine": file})})


def _options(copier: Copier, device: str | None, profile: str | None, has_other: bool) -> dict[str, str] | None:
    """The options with which a copier is measured; None: it is not measured."""
    if copier.name == CPU or copier.inner_option is not None:
        return None
    if copier.profile_option is not None:
        return {copier.profile_option: profile} if profile else None
    if copier.thread_option is None:
        return {}
    if device is not None:
        return {copier.thread_option: device}
    return {} if has_other else None


def _measured(
    engine: Path,
    copier: Copier,
    depth: int,
    options: Mapping[str, str],
    own: int,
    other_cpus: list[int],
    model: Profile | None,
) -> Measured:
    started = _eal(own, other_cpus, options.values())
    depth = min(depth, copier.most_depth, int(model.device.queue.given) if model and model.device else depth)
    batch = min(depth, BATCH)
    request = {"eal": started.args, "engine": copier.name, "options": options, "depth": depth, "batch": batch}
    request["model"] = model.plan().model_dump() if model else None
    try:
        head, costs, end = copy_costs(engine, request | {"rounds": ROUNDS, "area_bytes": AREA_BYTES, "sizes": SIZES})
    finally:
        remove_files(started.file_prefix)
    return Measured(copier=head, depth=depth, batch=batch, costs=costs, trip_ns_after=end.trip_ns)


def _eal(own: int, other_cpus: list[int], devices: Iterable[str]) -> Eal:
    """The EAL arguments. The main lcore measures; lcore 1 is for the thread of a software copier."""
    pages = hugepages()
    mode: Literal["hugepages", "no-huge"] = (
        "hugepages" if pages.usable and pages.free_bytes >= MEMORY_BYTES else "no-huge"
    )
    nics = [address for names in devices for address in pci_addresses(names)]
    return eal(mode, MEMORY_BYTES, [own], {cpu: 1 for cpu in other_cpus}, f"wt-copies-{token_hex(4)}", nics)
