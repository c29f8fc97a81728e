"""Pause frames (802.3x, PFC): a port was told to stop, or told the other end to."""

import re

from windtunnel.diagnose.causes.cause import Case, Check
from windtunnel.diagnose.model import Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.exchange.recorded import ethtool
from windtunnel.finding import told

_PAUSE = re.compile(r"pause|xoff|pfc|ppp\d", re.IGNORECASE)
"""In the names that drivers give to them: rx_prio0_pause (mlx5, mlx4), rx_flow_control_xoff and tx_pb_0_pxoff (ixgbe, igb, e1000e),
port.link_xoff_rx (i40e), rx_priority_3_xoff.nic (ice), rx_pfc_frames (bnxt), rx_pause_frames (be2net, bnx2x), RxPauseFrames and TxPPP0Frames
(cxgb4), port_rx_pause (sfc), rx_xoff_pause_rcvd (tg3), mac_rx_mac_pause_num (hns3), mac.rx_pause_frames_class0 (nfp)."""
_NO_FRAMES = re.compile(r"xon|duration|transition|storm|enter|ena_|time|usec|quanta|cycles|bytes|octets", re.IGNORECASE)
"""In names of what else is counted about pauses: their ends, lengths and alarms."""
_WAY = re.compile(r"(?:^|[^a-z])([rt]x)", re.IGNORECASE)


def _find(seen: Observed, limit: Limit) -> Case | None:
    texts = [text for text in seen.recorded.texts if text.tool == ethtool.TOOL]
    if not texts:
        return None
    known = [each for text in texts for each in text.readings if _counts_frames(each.name)]
    told(known or None, "no counter of pause frames in this text of ethtool -S")
    counted = {each.name: each.value for each in known if each.value}
    if not counted:
        return None
    told_to = any(_is_received(name) for name in counted)
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


def _counts_frames(name: str) -> bool:
    return bool(_PAUSE.search(name) and _WAY.search(name) and not _NO_FRAMES.search(name))


def _is_received(name: str) -> bool:
    way = _WAY.search(name)
    return way is not None and way[1].lower() == "rx"


CAUSE = Check("pause-frames", "ports tell each other to pause", _find, "recorded")
