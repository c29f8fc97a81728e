"""The NIC's writes into the last-level cache (DDIO; Axio's C4, PipeTune's P4): they find no room, and go to memory."""

from windtunnel.exchange.recorded.pcm_pcie import WRITES, name_of
from windtunnel.finding import require
from windtunnel.parts.diagnose.cause import Case, Check
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation

_RATE = "IO Write Miss Rate"


def _find(observation: Observation, limit: Limit) -> Case | None:
    if not observation.recorded.texts:
        return None
    not_counted = observation.recorded.not_counted([_RATE])
    by_pcm = observation.recorded.rate([name_of(e, "Miss") for e in WRITES], [name_of(e, "Total") for e in WRITES])
    rate, tool = require(
        by_pcm or observation.recorded.named(_RATE),
        "; ".join(("no text has misses of the NIC's writes (`pcm-pcie -e`), or their rate", *not_counted)),
    )
    if not rate:
        require(None if not_counted else rate, "; ".join(not_counted))
        return None
    return Case(
        evidence=f"{rate:.0%} of the lines that devices wrote were not in the last-level cache ({tool})",
        remedy="buffers that fit into the cache's ways for devices: fewer descriptors, fewer mbufs, or more ways for DDIO",
        against=["the first write to a line always misses: the rate matters only if it falls with fewer descriptors"],
        not_measured=["which device wrote: pcm-pcie counts all of a socket together", *not_counted],
    )


CAUSE = Check("nic-writes", "the NIC's writes miss the last-level cache", _find, "recorded")
