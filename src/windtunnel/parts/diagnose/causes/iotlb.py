"""The IOMMU's cache of translations: a NIC that reads or writes a page that is not in it waits for a walk of the page tables."""

from windtunnel.exchange.recorded.pcm_iio import HITS, LOOKUPS, MISSES
from windtunnel.finding import require
from windtunnel.parts.diagnose.cause import Case, Check
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation


def _find(observation: Observation, limit: Limit) -> Case | None:
    recorded = observation.recorded
    if not recorded.texts:
        return None
    by_lookups = recorded.rate([MISSES], [LOOKUPS])
    by_hits = recorded.rate([MISSES], [HITS])
    rate, tool = require(
        by_lookups or (by_hits and (by_hits[0] / (1 + by_hits[0]), by_hits[1])),
        f"no text has {MISSES} with {LOOKUPS} or {HITS} (`pcm-iio`)",
    )
    if not rate:
        return None
    return Case(
        evidence=f"{rate:.1%} of the translations of devices' addresses were not in the IOTLB ({tool})",
        remedy="hugepages of 1 GiB, which take few translations, fewer mbufs, or the kernel option iommu=pt for NICs that the kernel drives",
        against=[
            "all devices below an IOMMU are included: the rate matters if it falls with fewer mbufs or larger pages"
        ],
        not_measured=["what a walk of the page tables takes"],
    )


CAUSE = Check("iotlb", "the NIC's addresses miss the IOTLB", _find, "recorded")
