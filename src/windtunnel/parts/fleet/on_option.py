"""A fleet from the option --on. Every command imports this module for its help, so it imports the rest when a fleet is opened."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windtunnel.parts.fleet.executor import Fleet

EXTRA = "fleet"
"""Extra of this package that brings Ray."""
HELP = "a fleet: ray://HOST:PORT, HOST:PORT or auto of a Ray cluster, or a fleet file"


@contextmanager
def opened(on: str, most: int | None, say: Callable[[str], None]) -> Iterator["Fleet"]:
    """The executor of a fleet. `on`: an address of a Ray cluster, or a fleet file. `most`: testbeds at a time; None: all. `say` is called
    with a line about each change of a testbed. Raises UserError if no testbed can be used, ModuleNotFoundError if Ray is not installed."""
    from windtunnel.parts.fleet.executor import Fleet
    from windtunnel.parts.fleet.fleet_file import fleet_of_option
    from windtunnel.parts.fleet.hosts import software

    file = fleet_of_option(on)
    from windtunnel.parts.fleet.cables import Cables
    from windtunnel.parts.fleet.cluster import RayCluster
    from windtunnel.parts.fleet.connection import connected

    versions = software()
    with connected(file.address, file.wait / 1e9, file.without_token):
        testbeds = RayCluster(file.names, file.silence / 1e9)
        cluster = Cables(testbeds, file.cable) if file.cable else testbeds
        try:
            yield Fleet(cluster, versions, file.wait / 1e9, most, file.spread, say)
        finally:
            for name in testbeds.names:
                testbeds.dismiss(name)
