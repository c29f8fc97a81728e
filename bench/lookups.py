"""What does a lookup through the engine's tables cost, compared with the bare bulk call of DPDK's library on the same structure?

One core, keys of 16 bytes (prefixes: 4), all of them hit, drawn uniformly, bursts of 32. bench/table_lookups.c holds both contestants in
one process and gives them turns of milliseconds: they find the same structure, the same host and the same speed of the core. It
first compares their results for every key.
"""

from contextlib import contextmanager

from harness.main import main
from harness.noise import Steal
from harness.program import Program
from harness.results import Result
from harness.sample import Sample, cost
from harness.session import Session, compared
from harness.statistics import Goal

BURST = 32
TABLES_MIB = 2048
"""Room for the largest, where EAL has no hugepages to take more of: rte_fib with 10^6 prefixes takes 0.5 GiB."""

TURN_US, LONG_TURN_US = 2_000, 50_000
"""The long one against a list: scanning 10^4 rules leaves nothing else in the caches, and what comes next should not pay for it."""

BARE = Goal(1.1, "at most", aim=1.0)
TRIES = Goal(1 / 50, "at most")
RESULTS = (
    ("hash", "100", "bare", BARE),
    ("hash", "10000", "bare", BARE),
    ("hash", "1000000", "bare", BARE),
    ("fib", "100", "bare", BARE),
    ("fib", "10000", "bare", BARE),
    ("fib", "1000000", "bare", BARE),
    ("lpm", "10000", "bare", BARE),
    ("acl", "100", "bare", BARE),
    ("acl", "10000", "bare", BARE),
    ("acl", "10000", "linear", TRIES),
    ("tss", "10000", "linear", None),
)
UNIT = "ticks/lookup"


def measure(session: Session) -> list[Result]:
    return [_result(session, *result) for result in RESULTS]


def _result(session: Session, method: str, entries: str, reference: str, goal: Goal | None) -> Result:
    with _contestants(session, method, entries, reference) as take_round:
        take_round()  # warms up
        rounds = session.rounds(take_round, UNIT)
    return compared(session, f"{method}, {int(entries):,} entries", rounds, "ours", reference, UNIT, goal=goal)


@contextmanager
def _contestants(session: Session, method: str, entries: str, reference: str):
    """A function that runs a round, as long as the program lives. Raises UserError when it does not."""
    turn = LONG_TURN_US if reference == "linear" else TURN_US
    names = {"ours": "ours", reference: "reference"}
    with Program(session, "table_lookups", [method, entries, reference, BURST, turn], TABLES_MIB) as program:

        def take_round() -> dict[str, Sample]:
            with Steal(session.cpu) as steal:
                output = program.round(round(2 * session.seconds * 1000))
            return {name: _sample(output[key], output["tsc_hz"], steal.share) for name, key in names.items()}

        yield take_round


def _sample(output: dict, tsc_hz: int, steal: float | None) -> Sample:
    return cost(output["lookups"], output["ticks"], tsc_hz, output["preempted_ns"], steal)


if __name__ == "__main__":
    main(__doc__, measure)
