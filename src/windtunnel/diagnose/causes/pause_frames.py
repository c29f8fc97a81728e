"""Pause frames (802.3x, PFC): a port was told to stop, or told the other end to."""

from windtunnel.diagnose.causes.cause import Case, Check
from windtunnel.diagnose.model import Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.exchange.recorded import ethtool
from windtunnel.exchange.recorded.pause_counters import is_received
from windtunnel.finding import require


def _find(seen: Observed, limit: Limit) -> Case | None:
    texts = [text for text in seen.recorded.texts if text.tool == ethtool.TOOL]
    if not texts:
        return None
    known = [each for text in texts for each in text.readings if is_received(each.name) is not None]
    require(known or None, "no counter of pause frames in this text of ethtool -S")
    read = [each for each in known if each.value is not None]
    require(read or None, f"no counter of pause frames was read: {known[0].name}: {known[0].words}" if known else "")
    counted = {each.name: each.value for each in read if each.value}
    if not counted:
        return None
    told_to = any(is_received(name) for name in counted)
    return Case(
        evidence=", ".join(f"{name} {value:,.0f}" for name, value in counted.items()) + f" ({ethtool.TOOL})",
        remedy="what lies behind the port takes too little: look at the peer and the switch"
        if told_to
        else "this host takes too little: more mbufs and descriptors, or faster workers",
        against=[
            "they are counted since the driver began: give a text from before the run and one from after it, in one file"
        ]
        if any(each.words == ethtool.SINCE for text in texts for each in text.readings)
        else [],
        not_measured=["for how long the port stood still"],
    )


CAUSE = Check("pause-frames", "ports tell each other to pause", _find, "recorded")
