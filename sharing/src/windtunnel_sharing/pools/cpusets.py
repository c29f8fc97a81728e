"""Cgroups that keep a thread on its CPUs which strays from them again and again: an affinity is only a wish, which every thread may
change for itself. Of v1, which takes single threads. One of v2 would take the whole process, whose threads have different CPUs.
"""

import contextlib
from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

from windtunnel.api.errors import UserError
from windtunnel_sharing.pools.cgroups import Hierarchy
from windtunnel_sharing.pools.remove_groups import swept
from windtunnel_sharing.pools.shield import clean, make_group, own_group, threads_within

KEY = "cpuset"
"""Of the hierarchy, in /proc/PID/cgroup: one that has another controller too may be the shield's."""


class Cpusets:
    """A group of one daemon for each set of CPUs. `mount`: of the hierarchy, where there is one; root's rights make the group above them."""

    def __init__(self, mount: Path | None = None):
        self._base: Path | None = None
        self._why = "this host has no cpusets of cgroup v1"
        if mount is not None:
            clean(Hierarchy(1, mount, KEY))
            try:
                self._base = _make_base(mount)
            except OSError as error:
                self._why = f"{mount}: no cpuset can be made: {error.strerror}"

    def group(self, cpus: Iterable[int]) -> dict[str, str]:
        """The path of the group of these CPUs, by hierarchy. Raises UserError where none can be had."""
        if self._base is None:
            raise UserError(
                self._why, "run the tenant in a cpuset of its own: AllowedCPUs= of its unit, docker run --cpuset-cpus"
            )
        name = ",".join(map(str, sorted(cpus)))
        try:
            if not self._base.is_dir():  # without threads, anybody with the right may remove it
                _make_base(self._base.parent)
            _make(self._base / name, name)
        except OSError as error:
            raise UserError(f"{self._base / name}: no cpuset can be made: {error.strerror}") from None
        return {KEY: f"/{self._base.name}/{name}"}

    def occupants(self) -> tuple[str, list[int]]:
        """The hierarchy, and the threads that are in the groups now."""
        return KEY, threads_within(self._base) if self._base else []

    def swept(self, last: ExitStack | None = None) -> AbstractContextManager[None]:
        """Entered with root's rights; at every exit, also by a kill, the groups are removed. `last`: of `remove_groups.swept`."""
        return swept(self._base, last) if self._base else nullcontext()


def _make_base(mount: Path) -> Path:
    return _make(own_group(mount), (mount / "cpuset.cpus").read_text())


def _make(group: Path, cpus: str) -> Path:
    """A group with the memory of the one above: without CPUs and memory, no thread may enter."""
    make_group(group)
    try:
        (group / "cpuset.cpus").write_text(cpus)
        (group / "cpuset.mems").write_text((group.parent / "cpuset.mems").read_text())
    except OSError:
        with contextlib.suppress(OSError):  # it was there before, and somebody is in it
            group.rmdir()
        raise
    return group
