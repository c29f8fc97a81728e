"""One pair of runs: alternating, window by window, on the same cores; or one after the other."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.measure.compare.comparison_record import Change
from windtunnel.measure.execute import RunOutcome
from windtunnel.measure.executor import Executor, Job
from windtunnel.scenario import Scenario
from windtunnel.scenario.wires import has, named


@dataclass(frozen=True)
class Pair:
    """Two runs that have not started yet, A's and B's."""

    scenarios: Sequence[Scenario]
    runs: Sequence[Path]
    order: Sequence[int]
    """0 is A, 1 is B."""

    def run(
        self, change: Change, executor: Executor, interrupts: Interrupts, announce: Callable[[str], None]
    ) -> Iterator[tuple[int, RunOutcome]]:
        """Each side with its outcome, as soon as it is known. `announce` gets the side that runs now."""
        if change == "window":
            announce("A and B run")
            job = Job(tuple(self.scenarios), tuple(self.runs), first=self.order[0])
            outcomes = executor.execute_job(job, interrupts)
            yield from ((side, outcomes[side]) for side in self.order)
            return
        for side in self.order:
            announce(f"{'AB'[side]} runs")
            job = Job((self.scenarios[side],), (self.runs[side],))
            yield side, executor.execute_job(job, interrupts)[0]


def change_after(scenarios: Sequence[Scenario], asked: Change | None, cabled: bool = False) -> Change:
    """How often A and B alternate: as asked for, else after every window if the wires allow it and both sides are on one host.

    Raises UserError if they do not."""
    if asked == "run" or (cabled and asked is None):
        return "run"
    if cabled:
        raise UserError(
            "--alternate window: two runs cannot alternate by window on two cabled testbeds", remedy="--alternate run"
        )
    kinds = {scenario.wire.kind for scenario in scenarios if not has(scenario, "twice")}
    if asked == "window" and kinds:
        raise UserError(
            f'--alternate window: two runs cannot use the wire "{kinds.pop()}" at the same time',
            remedy=f"--alternate run, or wire.kind = {named('twice')}",
        )
    return "run" if kinds else "window"
