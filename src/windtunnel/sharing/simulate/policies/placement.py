"""Where threads are put."""

from collections.abc import Iterable, Mapping


def lightest(cores: Iterable[int], weights: Mapping[int, int]) -> int:
    """The core with the least weight, the first of several."""
    return min(cores, key=lambda core: (weights[core], core))


def spread(weights: Mapping[int, int], cores: Iterable[int]) -> dict[int, int]:
    """Thread -> core: the heaviest first, each to the core with the least weight (LPT; at most 4/3 of the best)."""
    loads = {core: 0 for core in cores}
    placed = {}
    for thread, weight in sorted(weights.items(), key=lambda item: (-item[1], item[0])):
        placed[thread] = lightest(loads, loads)
        loads[placed[thread]] += weight
    return placed
