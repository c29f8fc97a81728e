"""Does a diagnosis say the same of every run of one scenario?

scenarios/echo.toml, whose two workers are almost equally loaded, and scenarios/handler-m_app.toml, whose server is not: each runs
`--runs` times, and what limits it is compared with what was said most often: its kind, and the workers in their order. With `--probe` each run
is an experiment of 20 s. A run in which others took the CPUs in most windows is run again: there the host limits.
"""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence

from harness.engine_run import SCENARIOS
from harness.main import main
from harness.options import positive
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, Verdict, extent

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.measure.execute import execute
from windtunnel.parts.diagnose.conduct import execute_experiment, load_in_short_windows
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.model import Limit
from windtunnel.scenario import here, resolve

NAMES = ("echo", "handler-m_app")
MOST = 3
"""Times `--runs`: so many runs of each scenario in all."""
SHIPPED = SCENARIOS.parents[1] / "scenarios"


def measure(session: Session) -> list[Result]:
    with Interrupts() as interrupts:
        return [result for name in session.options.of or NAMES for result in _agreeing(session, name, interrupts)]


def _agreeing(session: Session, name: str, interrupts: Interrupts) -> list[Result]:
    """The share of the runs of which the diagnosis says what it says most often, and of those whose first worker is the same."""
    said: list[tuple[str, tuple[int, ...]]] = []
    for number in range(MOST * session.options.runs):
        if len(said) == session.options.runs:
            break
        found = _limit(session, name, number, interrupts)
        if found.kind != "host":
            said.append((found.kind, tuple(found.workers)))
        session.log(f"{name} {number + 1}: {found.words}")
    if not said:
        raise UserError(f"{name}: others took the CPUs in every run", remedy="stop other programs on this host")
    return [
        _same(session, f"{name}: the same in every run", said),
        _same(session, f"{name}: the same worker first", [workers[:1] for _, workers in said]),
    ]


def _same(session: Session, name: str, said: Sequence[object]) -> Result:
    (most, same), *_ = Counter(said).most_common()
    share = same / len(said)
    return Result(
        name,
        session.memory,
        extent([share]),
        "of all",
        ours=f"{most} in {same} of {len(said)}",
        goal=Goal(1.0, "at least"),
        verdict=Verdict(same == len(said), "met" if same == len(said) else "missed"),
        details={"said": list(said)},
    )


def _limit(session: Session, name: str, number: int, interrupts: Interrupts) -> Limit:
    file, directory = SHIPPED / f"{name}.toml", session.directory / f"{name}-{number}"
    if session.options.probe:
        outcome = execute_experiment(file, [f"memory={session.memory}"], directory, interrupts)
    else:
        spec = resolve(load_in_short_windows(file, [f"memory={session.memory}"]), here())
        outcome = execute(spec, directory, interrupts, settle=True)
    return diagnose(outcome.kept_run()).conclusion


def more(parser: ArgumentParser) -> None:
    parser.add_argument("--runs", type=positive(int), default=10, help="of each scenario")
    parser.add_argument("--of", choices=NAMES, action="append", help="of this scenario alone")
    parser.add_argument("--probe", action="store_true", help="by experiment")


if __name__ == "__main__":
    main(__doc__, measure, more=more)
