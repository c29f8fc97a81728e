"""A fleet from what --on says."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from windtunnel.fleet.executor import Fleet
from windtunnel.fleet.hosts import software
from windtunnel.fleet.keys import asked


@contextmanager
def opened(on: str, most: int | None, say: Callable[[str], None]) -> Iterator[Fleet]:
    """The executor of a fleet. `on`: an address of a Ray cluster, or a fleet file. `most`: testbeds at a time; None: all. `say`: gets what
    happens to testbeds, a line at a time. Raises UserError if no testbed can be used, ModuleNotFoundError if Ray is not installed."""
    file = asked(on)
    from windtunnel.fleet.cables import Cables
    from windtunnel.fleet.cluster import RayCluster
    from windtunnel.fleet.connection import connected

    here = software()
    with connected(file.address, file.wait / 1e9, file.without_token):
        testbeds = RayCluster(file.names, file.silence / 1e9)
        cluster = Cables(testbeds, file.cable) if file.cable else testbeds
        try:
            yield Fleet(cluster, here, file.wait / 1e9, most, file.spread, say)
        finally:
            for name in testbeds.names:
                testbeds.dismiss(name)
