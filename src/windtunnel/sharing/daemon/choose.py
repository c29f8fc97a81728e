"""Which slicer the daemon takes."""

from windtunnel.errors import UserError
from windtunnel.sharing import slicers
from windtunnel.sharing.daemon.keys import Serve
from windtunnel.sharing.daemon.serve import Chosen


def choose(keys: Serve, cpus: tuple[int, ...]) -> Chosen:
    """The one that the file names, or the best that the probe finds on the CPU that ls takes first.

    Raises UserError for one that there is not, or not on this host.
    """
    name = _best(cpus[-1]) if keys.slicer == "auto" else keys.slicer
    kind = slicers.SLICERS.get(name)
    if kind is None:
        raise UserError(f'no slicer "{name}"', remedy=f"one of {', '.join(slicers.SLICERS)}, or auto")
    if why := kind.missing(cpus[-1]):
        raise UserError(f"slicer {name}: {why}", remedy="slicer = auto, or another one")
    return Chosen(name, kind)


def _best(cpu: int) -> str:
    from windtunnel.sharing.probe import best  # measures for some seconds, and imports what it needs for that

    return best(cpu)
