"""A fleet from the option --on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from windtunnel.fleet.executor import Fleet
from windtunnel.fleet.hosts import software
from windtunnel.fleet.keys import fleet_of_option


@contextmanager
def opened(on: str, most: int | None, say: Callable[[str], None]) -> Iterator[Fleet]:
    """The executor of a fleet. `on`: an address of a Ray cluster, or a fleet file. `most`: testbeds at a time; None: all. `say` is called
    with a line about each change of a testbed. Raises UserError if no testbed can be used, ModuleNotFoundError if Ray is not installed."""
    file = fleet_of_option(on)
    from windtunnel.fleet.cables import Cables
    from windtunnel.fleet.cluster import RayCluster
    from windtunnel.fleet.connection import connected

    versions = software()
    with connected(file.address, file.wait / 1e9, file.without_token):
        testbeds = RayCluster(file.names, file.silence / 1e9)
        cluster = Cables(testbeds, file.cable) if file.cable else testbeds
        try:
            yield Fleet(cluster, versions, file.wait / 1e9, most, file.spread, say)
        finally:
            for name in testbeds.names:
                testbeds.dismiss(name)
