"""Samples of PCM's tables: each has a head and the same rows. A text that was cut, as by the end of PCM, ends within the last one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from windtunnel.exchange.source import Fault

CUT = "the last sample was cut, and is left out"


@dataclass
class WholeSamples:
    """The lines of a text up to the end of its last whole sample."""

    lines: list[str]
    caveat: str = ""
    """CUT, or nothing."""
    faults: list[Fault] = field(default_factory=list)


def whole_samples(
    lines: Sequence[str], is_head: Callable[[str], bool], place_of: Callable[[str], str | None], remedy: str
) -> WholeSamples:
    """Returns the lines up to the last whole sample. PCM ends each line, so the last one is empty, or was cut. `place_of`: what a row is of, None
    for another line."""
    *ended, rest = lines
    whole = WholeSamples(ended)
    heads = [position for position, line in enumerate(ended) if is_head(line)]
    places = [
        [place for line in ended[head + 1 : end] if (place := place_of(line)) is not None]
        for head, end in pairwise([*heads, len(ended)])
    ]
    if len(heads) < 2:
        if rest.strip():
            whole.faults.append(
                Fault(len(lines), "the text ends within a line, and so within its first sample", remedy)
            )
        return whole
    if is_head(rest) or place_of(rest) is not None:
        whole.caveat = CUT
    if len(places[-1]) < len(places[0]):
        whole.caveat = CUT
        whole.lines = ended[: heads.pop()]
        places.pop()
    for head, rows in zip(heads, places, strict=True):
        if rows != places[0]:
            whole.faults.append(
                Fault(head + 1, "the sample that begins here has other rows than the first one", remedy)
            )
    return whole
