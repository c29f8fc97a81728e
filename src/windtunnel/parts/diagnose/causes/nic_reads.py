"""The NIC's reads of packets and descriptors that are not in the last-level cache any more (Axio's IO Read Miss Rate): memory answers them."""

from windtunnel.exchange.recorded.pcm_pcie import READS, name_of
from windtunnel.finding import require
from windtunnel.parts.diagnose.cause import Case, Check
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation

_RATE = "IO Read Miss Rate"


def _find(observation: Observation, limit: Limit) -> Case | None:
    if not observation.recorded.texts:
        return None
    not_counted = observation.recorded.not_counted([_RATE])
    by_pcm = observation.recorded.rate([name_of(e, "Miss") for e in READS], [name_of(e, "Total") for e in READS])
    rate, tool = require(
        by_pcm or observation.recorded.named(_RATE),
        "; ".join(("no text has misses of the NIC's reads (`pcm-pcie -e`), or their rate", *not_counted)),
    )
    if not rate:
        require(None if not_counted else rate, "; ".join(not_counted))
        return None
    return Case(
        evidence=f"{rate:.0%} of the lines that devices read were not in the last-level cache ({tool})",
        remedy="send packets sooner after they are written: smaller batches, fewer mbufs and descriptors, and a port of the workers' own socket",
        against=["a NIC of another socket reads through its own socket's cache, which hardly ever has the line"],
        not_measured=["which device read: pcm-pcie counts all of a socket together", *not_counted],
    )


CAUSE = Check("nic-reads", "the NIC's reads miss the last-level cache", _find, "recorded")
