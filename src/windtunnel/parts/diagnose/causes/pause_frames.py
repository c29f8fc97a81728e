"""Pause frames (802.3x, PFC): a port was told to stop, or told the other end to."""

from windtunnel.exchange.recorded import ethtool
from windtunnel.exchange.recorded.pause_counters import is_received
from windtunnel.finding import require
from windtunnel.parts.diagnose.cause import Case, Check
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation


def _find(observation: Observation, limit: Limit) -> Case | None:
    texts = [text for text in observation.recorded.texts if text.tool == ethtool.TOOL]
    if not texts:
        return None
    readings = [reading for text in texts for reading in text.readings if is_received(reading.name) is not None]
    require(readings or None, "no counter of pause frames in this text of ethtool -S")
    unread = [f"{reading.name}: {reading.words}" for reading in readings if reading.value is None]
    frames = {reading.name: reading.value for reading in readings if reading.value}
    if not frames:
        require(None if unread else readings, f"counters of pause frames that were not read: {'; '.join(unread)}")
        return None
    is_told_to_pause = any(is_received(name) for name in frames)
    return Case(
        evidence=", ".join(f"{name} {value:,.0f}" for name, value in frames.items()) + f" ({ethtool.TOOL})",
        remedy="what lies behind the port takes too little: look at the peer and the switch"
        if is_told_to_pause
        else "this host takes too little: more mbufs and descriptors, or faster workers",
        against=[
            "they are counted since the driver began: give a text from before the run and one from after it, in one file"
        ]
        if any(reading.words == ethtool.SINCE for text in texts for reading in text.readings)
        else [],
        not_measured=["for how long the port stood still", *unread],
    )


CAUSE = Check("pause-frames", "ports tell each other to pause", _find, "recorded")
