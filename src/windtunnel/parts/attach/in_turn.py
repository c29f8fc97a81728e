"""Two commands, each observed several times: which of a pair comes first is drawn, so that changes of the host affect both alike."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.measure.compare.compared import keep
from windtunnel.measure.compare.comparison_record import Comparison, PairedRuns, Stopped
from windtunnel.measure.compare.judge import judge
from windtunnel.measure.compare.sides import sides
from windtunnel.parts.attach.live_table import Listener
from windtunnel.parts.attach.session import Request, observe
from windtunnel.runs.directories import make_directory

SEED = 1
"""Of the order in each pair."""


def compare_in_turn(
    commands: Mapping[str, Sequence[str]],
    pairs: int,
    request: Request,
    directory: Path,
    announce: Callable[[str], None],
    listener: Listener,
) -> Comparison:
    """Observes the commands "a" and "b" `pairs` times, into the new directory: a/01, b/01, a/02 ..., and compares them. If the user stops it,
    what was observed is compared. Raises UserError if a command cannot be observed, if their programs have unlike names, or if it was
    stopped before both had run."""
    make_directory(directory)
    valid: dict[str, list[bool]] = {"a": [], "b": []}
    programs: dict[str, str] = {}
    interrupted = False
    for pair, side in _order(pairs):
        announce(f"pair {pair} of {pairs}: {side.upper()} runs")
        observation = observe(list(commands[side]), request, directory / side / f"{pair:02}", listener)
        valid[side].append(observation.run.record.verdict.valid)
        if observed := observation.run.record.observed:
            programs[side] = observed.program
        _check_programs(programs)
        if interrupted := observation.interrupted:
            break
    if not all(valid.values()):
        raise UserError(f"{directory}: stopped before both had run", remedy="`windtunnel show` shows the one run")
    complete = sum(a and b for a, b in zip(*valid.values(), strict=False))
    stopped: Stopped = "interrupted" if interrupted else "all run" if complete == pairs else "failed"
    made = PairedRuns(pairs_wanted=pairs, pairs=complete, seed=SEED, change="run", stopped=stopped)
    comparison = judge(*sides(directory / "a", directory / "b"), paired_runs=made)
    keep(comparison, directory)
    return comparison


def _order(pairs: int) -> Iterator[tuple[int, str]]:
    coin = random.Random(SEED)
    return ((pair, side) for pair in range(1, pairs + 1) for side in coin.sample("ab", 2))


def _check_programs(programs: Mapping[str, str]) -> None:
    """Raises UserError if both are known and differ: nothing would be compared at the end."""
    if len(set(programs.values())) > 1:
        raise UserError(
            f"the program of A is {programs['a']}, and that of B is {programs['b']}",
            remedy="two builds of one program are compared: give both the same file name, in two directories",
        )
