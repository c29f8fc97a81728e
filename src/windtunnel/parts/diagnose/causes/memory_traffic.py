"""Memory moves more bytes than packets have: data does not stay in the caches between the NIC and the application (Axio's pcm_mem)."""

from windtunnel.exchange.recorded import pcm_memory, resctrl_files
from windtunnel.finding import require
from windtunnel.parts.diagnose.cause import Case, Check
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.parts.diagnose.recorded import BY_WORKERS, Evidence

_MB = 1e6
_OF_THE_HOST = "all programs of the host are included"


def _find(observation: Observation, limit: Limit) -> Case | None:
    if not observation.recorded.texts:
        return None
    a_second, tool, against = require(
        _traffic(observation.recorded, observation.seconds),
        "no text has bytes to and from memory: mbm-total of --counters, resctrl, or `pcm-memory -csv`",
    )
    frames = require(observation.frame_bytes_a_message, "bytes of frames: no packet passed a port")
    a_message = a_second * observation.ns_a_message / 1e9
    if a_message <= frames:
        return None
    return Case(
        evidence=f"memory moves {a_second / 1e9:.2f} GB/s ({tool}): {a_message:,.0f} B a message, whose frames have {frames:,.0f} B at all ports",
        remedy="fewer mbufs and descriptors, so that the same ones stay in the cache, smaller tables, or more ways of the cache for DDIO",
        against=against,
        not_measured=["how much the memory of this host can move"],
    )


def _traffic(recorded: Evidence, seconds: float) -> tuple[float, str, list[str]] | None:
    """Bytes a second, the tool, and what its evidence has against it; the source that is nearest to the workers first."""
    if (of_workers := recorded.value(BY_WORKERS, "mbm-total")) is not None and seconds:
        return of_workers / seconds, BY_WORKERS, ["resctrl leaves out what devices move"]
    read, written = (recorded.value(pcm_memory.TOOL, name) for name in (pcm_memory.READ, pcm_memory.WRITTEN))
    if read is not None and written is not None:
        return (read + written) * _MB, pcm_memory.TOOL, [_OF_THE_HOST]
    if (of_host := recorded.value(resctrl_files.TOOL, resctrl_files.TOTAL)) is not None:
        return of_host, resctrl_files.TOOL, [_OF_THE_HOST, "resctrl leaves out what devices move"]
    return None


CAUSE = Check("memory-traffic", "data goes to memory and back", _find, "recorded")
