"""Draws mutants: as many in every area, at most one of a line, by a hash of the seed and the line's text.

So a change of one file does not change what is drawn in another, nor elsewhere in that file.
"""

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from mutant import Mutant, mutant_of

# What decides about a number, a verdict or a user's machine.
AREAS: dict[str, dict[str, list[str]]] = {
    "python": {
        "validity": ["src/windtunnel/measure/validity/*.py"],
        "compare": ["src/windtunnel/measure/compare/*.py"],
        "stats": ["src/windtunnel/stats/*.py"],
        "search": ["src/windtunnel/measure/search/*.py", "src/windtunnel/measure/throughput/*.py"],
        "history": ["src/windtunnel/measure/history/*.py"],
        "diagnose": ["src/windtunnel/parts/diagnose/**/*.py"],
        "runs": [
            f"src/windtunnel/runs/{name}.py"
            for name in (
                "counters",
                "histogram",
                "joined",
                "metrics",
                "notices",
                "registry/*",
                "rows",
                "summary",
                "validity",
            )
        ],
        "scenario": [
            f"src/windtunnel/scenario/{name}.py"
            for name in (
                "*checks",
                "demand",
                "load",
                "memory",
                "needs",
                "placement",
                "positions",
                "resolve",
                "sizes",
            )
        ],
        "engine": ["src/windtunnel/engine/supervisor.py", "src/windtunnel/engine/verdict.py"],
        "sharing": [
            "sharing/src/windtunnel_sharing/changed_threads.py",
            "sharing/src/windtunnel_sharing/journal.py",
            "sharing/src/windtunnel_sharing/pools/*.py",
        ],
    },
    "c++": {
        area: [f"engine/{area}/*.{ending}" for ending in ("c", "cc", "h")]
        for area in ("core", "run", "stages", "parts/*", "parts/tables/library", "control", "plan")
    },
}

Mutation = tuple[str, Callable[[], str | None]]
"""The operator, and what makes the file's new text; None: there is nothing to mutate after all."""


def draw(
    checkout: Path,
    language: str,
    areas: dict[str, list[str]],
    mutations: Callable[[str, int], Iterable[Mutation]],
    seed: int,
) -> Iterator[Mutant]:
    """All mutants that there can be, in the order of the draw: take as many as are wanted."""
    drawn = [
        _drawn_in(checkout, language, sorted({file for glob in globs for file in checkout.glob(glob)}), mutations, seed)
        for globs in areas.values()
    ]
    for turn in itertools.zip_longest(*drawn):
        yield from (mutant for mutant in turn if mutant is not None)


def _drawn_in(
    checkout: Path, language: str, files: list[Path], mutations: Callable[[str, int], Iterable[Mutation]], seed: int
) -> Iterator[Mutant]:
    texts = {file.relative_to(checkout).as_posix(): file.read_text() for file in files}
    places = []
    for file, text in texts.items():
        before: Counter[str] = Counter()
        for number, line in enumerate(text.splitlines(), start=1):
            places.append((_rank(seed, file, line.strip(), before[line.strip()]), file, number))
            before[line.strip()] += 1
    for rank, file, number in sorted(places):
        possible = enumerate(mutations(texts[file], number))
        ranked = sorted(possible, key=lambda each: _rank(rank, each[0], each[1][0]))
        made = ((operator, make()) for _, (operator, make) in ranked)
        operator, text = next((each for each in made if each[1] is not None), ("", None))
        if text is not None:
            yield mutant_of(language, file, operator, texts[file], text)


def _rank(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()
