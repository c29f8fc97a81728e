"""The pairs of workers between which a probe of the host sends cache lines, in rounds of pairs that have no worker in common.

The pairs of a round send at the same time, so that a probe's time grows with its rounds, not with its workers: any number of clients that have
a server each need one round.
"""

from collections.abc import Mapping, Sequence
from itertools import count

from windtunnel.engine.plan import ProbedPair
from windtunnel.engine.plan_values import MAX_PROBE_ROUNDS
from windtunnel.scenario.exchanges import StageOfSide, exchanging
from windtunnel.scenario.topology import Topology


def probe_pairs(topologies: Sequence[Topology], workers: Mapping[StageOfSide, int]) -> list[ProbedPair]:
    """The pairs that a probe measures, in the order of their rounds. `workers`: stage -> position of its worker."""
    pairs = [
        ProbedPair(a=a, b=b, round=number) for number, a, b in _rounds(topologies, workers) if number < MAX_PROBE_ROUNDS
    ]
    return sorted(pairs, key=lambda pair: pair.round)


def unprobed(topologies: Sequence[Topology], workers: Mapping[StageOfSide, int]) -> list[str]:
    """A note if a probe has too few rounds for all pairs."""
    numbers = [number for number, _, _ in _rounds(topologies, workers)]
    left_out = sum(number >= MAX_PROBE_ROUNDS for number in numbers)
    if not left_out:
        return []
    text = f"{left_out} of {len(numbers)} pairs of workers that exchange packets are not probed"
    return [f"{text}: a worker exchanges them with more than {MAX_PROBE_ROUNDS} others"]


def _rounds(topologies: Sequence[Topology], workers: Mapping[StageOfSide, int]) -> list[tuple[int, int, int]]:
    """Round, and the two workers, the lower one first: each pair in the first round that neither is in."""
    busy: dict[int, set[int]] = {}
    rounds = []
    for a, b in exchanging(topologies, workers):
        taken = busy.setdefault(a, set()) | busy.setdefault(b, set())
        chosen = next(number for number in count() if number not in taken)
        busy[a].add(chosen)
        busy[b].add(chosen)
        rounds.append((chosen, min(a, b), max(a, b)))
    return rounds
