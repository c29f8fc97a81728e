"""A link: packets wait for it, or are dropped in front of it."""

from windtunnel.parts.diagnose.cause import Case, Check
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation


def _find(observation: Observation, limit: Limit) -> Case | None:
    if limit.kind != "link":
        return None
    ports = [f"{row.endpoint} {row.tx_gbps:.3f} Gbit/s" for row in observation.summary.ports if row.tx_gbps is not None]
    return Case(
        evidence=f"{limit.words}; sent: {', '.join(ports)}",
        remedy="a faster link, fewer bytes per message, or fewer messages",
        not_measured=["the rate of the link: a diagnosis does not read it"],
    )


CAUSE = Check("link", "the link takes no more", _find, "guest")
