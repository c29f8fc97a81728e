"""Whether the packets of a run were those that its question is about: a run in which none was used measures nothing."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from windtunnel.engine.drops import DROPS
from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window
from windtunnel.runs.validity import Check
from windtunnel.scenario.capture import look_into, vlan_words
from windtunnel.scenario.refusal import Refusal

_MOST_NAMED = 3


def traffic_check(windows: Mapping[str, Sequence[Window]], window_ns: int = 0, plans: Iterable[Plan] = ()) -> Check:
    """Judges the measured windows of all engines. Bad if no packet was received or sent; a warning if one side could use none of those that it
    received. `window_ns`: of the plan; a run that was stopped in its first window has shown nothing. `plans`: those of the run, which name the
    capture that was played."""
    received, sent, dropped = Counter[str](), Counter[str](), dict[str, Counter[str]]()
    for window in (window for of_engine in windows.values() for window in of_engine):
        for port in window.ports:
            received[port.endpoint] += port.rx_packets
            sent[port.endpoint] += port.tx_packets
        for stage in window.stages:
            dropped.setdefault(stage.endpoint, Counter()).update(_unused(stage.drops))
    if not any(window.end_ns - window.start_ns >= window_ns for of_engine in windows.values() for window in of_engine):
        return Check(name="traffic", state="unknown", words="no whole window was measured")
    if not received.total() and not sent.total():
        return Check(name="traffic", state="bad", words="no packet was received or sent: nothing was measured")
    for side, count in received.items():
        reasons = dropped.get(side, Counter())
        if count and reasons.total() >= count:
            return Check(
                name="traffic", state="warning", words=_dropped_sentence(side, count, reasons, plans), value=1.0
            )
    return Check(name="traffic", state="good", words="each side used packets that it received")


def _unused(drops: Mapping[str, int]) -> dict[str, int]:
    """Drops of packets that the endpoint could not use."""
    return {name: count for name, count in drops.items() if name not in DROPS or not DROPS[name].used}


def _dropped_sentence(side: str, count: int, reasons: Counter[str], plans: Iterable[Plan]) -> str:
    most = reasons.most_common(_MOST_NAMED)
    reasons_text = ", ".join(f"{reason} {number:,}" for reason, number in most)
    first = most[0][0]
    explanation = f". {first}: {_explained(first, side, plans)}" if first in DROPS else ""
    return f"the {side} dropped all {count:,} packets that it received ({reasons_text})" + explanation


def _explained(drop: str, side: str, plans: Iterable[Plan]) -> str:
    """Cause and remedy, with the VLAN's number if a capture has it: a drop is counted without one."""
    vlans = _played_vlans(plans) if drop in ("tagged", "other_vlan") else {}
    return vlan_words(vlans, side) if vlans else DROPS[drop].words


def _played_vlans(plans: Iterable[Plan]) -> Mapping[int, int]:
    """VLANs of the frames that were played; none if no capture was, or it is no longer there."""
    ports = (endpoint.port for plan in plans for endpoint in plan.endpoints)
    played = next((port.options["replay"] for port in ports if "replay" in port.options), None)
    try:
        return look_into(Path(played), ()).vlans if played else {}
    except Refusal:
        return {}
