"""What in a run is not real: emulated faults of its wire and what parts emulate, in words. Every view of results shows them."""

from collections.abc import Iterable, Sequence

from windtunnel.engine.plan import Faults, Link, Plan
from windtunnel.part_registry import part_modules


def emulated_faults(plans: Iterable[Plan]) -> list[str]:
    """One label for each kind of emulated fault, with the endpoints whose packets it affects; empty without faults."""
    sides: dict[str, list[str]] = {}
    for plan in plans:
        for endpoint in plan.endpoints:
            faults, link = endpoint.port.faults, endpoint.port.link
            for words in (_words(faults) if faults else "", _link_words(link) if link else ""):
                if words:
                    sides.setdefault(words, []).append(endpoint.side)
    return [f"emulated on what {_senders(senders)}: {words}" for words, senders in sides.items()]


def emulated_in(plans: Sequence[Plan]) -> list[str]:
    """A label for everything that is not real: emulated faults of the wire, and what parts emulate; empty if all is real."""
    return emulated_faults(plans) + [label for part in part_modules("emulated") for label in part.labels(plans)]


def _words(faults: Faults) -> str:
    parts = {"loss": faults.loss, "duplication": faults.duplicate, "reordering": faults.reorder}
    depth = f" (by up to {faults.reorder_depth} packets)" if faults.reorder else ""
    return ", ".join(f"{what} {p * 100:.4g}%" for what, p in parts.items() if p) + depth


def _link_words(link: Link) -> str:
    rate = f"{link.bits_per_s / 1e9:g} Gbit/s" if link.bits_per_s else "no limit of rate"
    return f"a link of {rate}, {link.delay_ns / 1000:g} us, a queue of {link.queue} packets"


def _senders(sides: list[str]) -> str:
    return f"the {sides[0]} sends" if len(sides) == 1 else f"{' and '.join(sorted(sides))} send"
