"""Pipelines that only send or only receive packets: one side alone, on the wire "null", which takes what is sent, or gives frames of zeros.

Axio sends as fast as it can. Here nothing is sent without a rate or a response, so the rate is the user's.
"""

from typing import Any

from windtunnel.engine.plan_values import MAX_INFLIGHT
from windtunnel.exchange.source import Fault
from windtunnel.parts.axio.config_keys import COMPILED
from windtunnel.parts.axio.conversion import Conversion
from windtunnel.scenario.quantities import parse

HEADER_BYTES, LEAST_FRAME_BYTES = 42, 60
"""Of Ethernet, IP and UDP, before the payload; the smallest frame of the wire."""
TIMEOUT_S = 0.001
LEAST_INFLIGHT = 1024
"""For each application, as a scenario has it."""
_RESPONDS = "l_app"
"""A message handler, which no message reaches: a workload of messages names one."""
NO_PEER = 'nobody is at the other end of the wire "null"'
NO_RESPONSES = "there are no responses"


def offer(conversion: Conversion, rate: str | None) -> None:
    """Puts the rate of `--rate`, and what a message without a response needs. A rate that is missing, or that nothing offers, is a fault."""
    if conversion.alone != "sends":
        if rate is not None:
            what = f"--rate {rate} is given, and no pipeline of the file only sends"
            conversion.faults.append(Fault(0, what, "no --rate"))
        return
    workloads = conversion.config.workloads
    try:
        per_s = parse("rate", rate) if rate is not None else None
    except ValueError as error:
        conversion.faults.append(Fault(0, f"--rate: {error}", "as in --rate 1Mpps"))
        return
    if per_s is None:
        what = f"workload {workloads[0].id} only sends: Axio sends as fast as it can, here it needs a rate"
        conversion.faults.append(Fault(workloads[0].line, what, "--rate, of all workloads, as in --rate 1Mpps"))
        return
    applications = sum(len(applications) for workload in workloads for applications, _ in workload.groups)
    inflight = min(max(LEAST_INFLIGHT * applications, 2 * per_s * TIMEOUT_S), MAX_INFLIGHT)
    conversion.data["client"] |= {"rate": rate, "inflight": int(inflight)}
    for table in conversion.data["workload"]:
        table["timeout"] = f"{TIMEOUT_S * 1000:.0f}ms"
    conversion.notes.append(
        "client.rate is that of --rate, client.inflight and timeout follow from it: no response comes, so a message is in flight until its timeout"
    )


def receive(conversion: Conversion) -> None:
    """Puts the length of the frames that come."""
    conversion.data["wire"]["packet"] = _frame_bytes(COMPILED["request_payload_bytes"])
    conversion.put(("wire", "packet"), "request_payload_bytes", _frame_bytes)  # if it is a number
    conversion.notes.append(
        "wire.packet is the frame of a request; the frames are of zeros, and the packet handler drop frees them"
    )


def without_responses(conversion: Conversion, table: dict[str, Any]) -> dict[str, Any]:
    """The table of a workload to which nobody responds."""
    handler = {"packet_handler": "drop"} if conversion.alone == "receives" else {"handler": _RESPONDS}
    kept = ["name", "apps", "dispatchers", "colocate", "groups"]
    if conversion.alone == "sends":
        kept.append("request")
    return handler | {key: table[key] for key in kept if key in table}


def skip(conversion: Conversion) -> None:
    """Names the keys that concern responses."""
    limits = ("inflight_limit_enabled", "inflight_messages")
    for name in ("message_handler", "response_payload_bytes", "app_ticks_per_message", *limits):
        conversion.skip(name, NO_RESPONSES)


def _frame_bytes(payload: int) -> int:
    return max(LEAST_FRAME_BYTES, HEADER_BYTES + payload)
