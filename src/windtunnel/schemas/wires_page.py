"""The page of wires, docs/reference/wire-options.md, as Markdown."""

from collections.abc import Iterator, Sequence

from windtunnel.engine.query import Wire, WireMbufs
from windtunnel.scenario.wire_words import default, needs, takes

HEAD = """\
# Wires and their options

<!-- Generated from the descriptors in engine/wires by `python -m windtunnel.schemas`. -->

`wire.kind` names the wire. `windtunnel wires` prints this list for your own engine. [Wires](wires.md) explains what each wire does to
packets, and what that means for the measured values. Each wire needs its driver or library when the engine is built and when it runs; *needs* says what else it needs of the host.

| wire | what it is | driver | peer | copies |
|---|---|---|---|---|
"""

TRAITS = {
    "both_ends": "Windtunnel runs both ends",
    "together": "both in one process",
    "process_each": "a process for each end",
    "foreign_peer": "the peer may be another host or another program",
    "silent": "no request gets a response",
    "unfilled": "frames come with bytes that a handler may fill",
    "twice": "two runs may have it at once, so that `compare` can alternate them window by window",
    "moves_mbufs": "mbufs change hands",
    "emulates": "faults and a link can be emulated",
    "nic": "a real NIC, with its own counters",
    "leaves_mac": "its MAC is left as it is",
    "own_mac": "an endpoint may use the port's own MAC",
    "paired_queues": "each queue has one of the other end, so that both ends have as many",
}
"""Traits that matter to a user; the others are the engine's."""


def page(wires: Sequence[Wire]) -> str:
    rows = [f"| [`{w.name}`](#{w.name}) | {w.help} | {w.driver} | {w.peer} | {w.copies} |\n" for w in wires]
    return HEAD + "".join(rows) + "".join(line for wire in wires for line in _wire(wire))


def _wire(wire: Wire) -> Iterator[str]:
    sides = " and ".join(f"`[{side}]`" for side in ("client", "server") if side in wire.traits)
    yield f"\n## {wire.name}\n\n"
    yield f"- **Sides:** {sides}\n"
    yield f"- **Needs:** {needs(wire) or 'nothing else'}\n"
    mtu = f", an MTU of {wire.most_mtu} at most ({wire.mtu_why})" if wire.most_mtu else ""
    yield f"- **Limits:** {wire.most_queues} queues per port{mtu}\n"
    yield f"- **Traits:** {'; '.join(_trait(wire, trait) for trait in TRAITS if trait in wire.traits)}\n"
    yield f"- **mbufs that its driver may hold, for each queue:** {_mbufs(wire.mbufs)}\n"
    if not wire.options:
        yield "\nNo options.\n"
        return
    yield "\n| option | stands in | takes | default | meaning |\n|---|---|---|---|---|\n"
    for option in wire.options:
        where = "`[wire]`" if option.scope == "wire" else "`[client]`, `[server]`"
        default_text = (
            f"`{default(option)}`"
            if option.default is not None
            else "required"
            if option.type != "socket"
            else "one of the run's own"
        )
        yield f"| `{option.name}` | {where} | {_cell(takes(option))} | {default_text} | {_cell(option.help)} |\n"


def _trait(wire: Wire, trait: str) -> str:
    """With the options without which the wire is reliable, and nothing is lost on it."""
    lossy = [f'with `{option.name} = "{option.lossy}"` only' for option in wire.options if option.lossy]
    return TRAITS[trait] + (f" ({', '.join(lossy)})" if trait == "emulates" and lossy else "")


def _mbufs(mbufs: WireMbufs) -> str:
    nouns = {
        "rx": "each receive descriptor",
        "tx": "each transmit descriptor",
        "peer_rx": "each receive descriptor of the other end",
        "frames": "each frame of the capture, unless frames come at their own times",
    }
    parts = [str(mbufs.fixed)] if mbufs.fixed else []
    for name, noun in nouns.items():
        if factor := getattr(mbufs, name):
            parts.append(f"{factor} for {noun}")
    return ", ".join(parts) or "none"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
