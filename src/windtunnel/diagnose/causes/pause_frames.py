"""Pause frames (802.3x, PFC): a port was told to stop, or told the other end to."""

import re

from windtunnel.diagnose.causes.cause import Case, Check
from windtunnel.diagnose.model import Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.exchange.recorded import ethtool

_PAUSE = re.compile(r"(rx|tx)\w*_pause(_ctrl_phy|_frames|_packets)?")
"""As in rx_prio0_pause and tx_pause_ctrl_phy; durations and transitions have other endings."""


def _find(seen: Observed, limit: Limit) -> Case | None:
    texts = [text for text in seen.recorded.texts if text.tool == ethtool.TOOL]
    if not texts:
        return None
    counted = {
        each.name: each.value for text in texts for each in text.readings if each.value and _PAUSE.fullmatch(each.name)
    }
    if not counted:
        return None
    told_to = any(name.startswith("rx") for name in counted)
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
        untold=["for how long the port stood still"],
    )


CAUSE = Check("pause-frames", "ports tell each other to pause", _find, "recorded")
