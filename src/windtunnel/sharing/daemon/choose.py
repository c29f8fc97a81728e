"""Which slicer the daemon takes."""

from windtunnel.errors import UserError
from windtunnel.sharing import slicers
from windtunnel.sharing.daemon.core import Chosen
from windtunnel.sharing.daemon.keys import Serve


def choose(keys: Serve, cpus: tuple[int, ...]) -> Chosen:
    """The one that the file names, or what the last probe of the CPU that ls takes first has picked.

    Raises UserError for one that there is not, or not on this host.
    """
    name = _best(cpus[-1]) if keys.slicer == "auto" else keys.slicer
    kind = slicers.SLICERS.get(name)
    if kind is None:
        raise UserError(f'no slicer "{name}"', remedy=f"one of {', '.join(slicers.SLICERS)}, or auto")
    if why := kind.missing(cpus[-1]):
        raise UserError(f"slicer {name}: {why}", remedy="slicer = auto, or another one")
    return Chosen(name, kind, kind.raises)


def _best(cpu: int) -> str:
    from windtunnel.sharing.probe import best  # it imports what measuring needs

    return best(cpu)
