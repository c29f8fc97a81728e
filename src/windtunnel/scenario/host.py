"""What the planning must know of the host, and no more: a test makes one up."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HostView:
    """The machine on which the flight takes place."""

    cpus: list[int]
    """CPUs that this process may use."""
    hugepages_free_bytes: int
    hugepages_usable: bool
    root: bool
    interfaces: list[str] | None = None
    """Kernel interfaces; None: not known."""
    memory_bytes: int | None = None
    """RAM; None: not known."""


def here() -> HostView:
    """This machine."""
    import os
    import socket

    from windtunnel.host.facts import allowed_cpus, hugepages

    pages = hugepages()
    return HostView(
        cpus=sorted(allowed_cpus()),
        hugepages_free_bytes=pages.free_bytes,
        hugepages_usable=pages.usable,
        root=os.geteuid() == 0,
        interfaces=[name for _, name in socket.if_nameindex()],
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    )
