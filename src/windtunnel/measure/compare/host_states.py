"""Runs are compared within one state of the host: a difference between two states is the host's, not the data plane's."""

from collections.abc import Sequence

from windtunnel.host.levels import GAP, ONLY_ONE
from windtunnel.measure.compare.reading import Reading


def same_state(a: Reading, b: Reading) -> bool:
    """Whether the metrics of two runs are of one state. A run whose state is not known can be compared with any other, as before
    there were states. A run made when the host had shown one level alone is matched by its round trip."""
    if a.state is None or b.state is None:
        return True
    if ONLY_ONE not in a.state + b.state:
        return a.state == b.state
    siblings_differ = a.state.partition(", ")[2] != b.state.partition(", ")[2]
    if siblings_differ or a.line_ns is None or b.line_ns is None:
        return False
    return max(a.line_ns, b.line_ns) < GAP * min(a.line_ns, b.line_ns)


def in_common_state(a: Sequence[Reading], b: Sequence[Reading]) -> tuple[list[Reading], list[Reading]]:
    """The runs of both sides in the state that most of them share; none where they share no state."""
    best: tuple[list[Reading], list[Reading]] = ([], [])
    for example in (*a, *b):
        ours, theirs = ([reading for reading in side if same_state(example, reading)] for side in (a, b))
        if min(len(ours), len(theirs)) > min(len(best[0]), len(best[1])):
            best = ours, theirs
    return best


def no_common_state(a: Sequence[Reading], b: Sequence[Reading]) -> str | None:
    """Why runs cannot be compared, in words; None where they share a state."""
    if any(in_common_state(a, b)):
        return None
    ours, theirs = (" and ".join(sorted({reading.state or "" for reading in side})) for side in (a, b))
    return f"host state: A ran on {ours}, B on {theirs}. Compare two scenarios, so that their runs alternate"
