"""Does `windtunnel compare` find 3% of extra work, and nothing where nothing is?

An echo in a closed loop on the ring wire, whose server is the bottleneck, is flown in triples: A, the same once more, and B with further
work a message (`workload.extra_ticks`), reckoned from a first flight to be 3% of the server's work on it; each triple in an order of
its own. Then 100 comparisons of A with itself and 100 of A with B, each on a stretch of the recorded triples chosen at random, no
longer than 10 minutes of flights. Stretches overlap: the counts are those of one machine on one day, and have no interval.

The triples can be kept (--record DIR) and read again (--from DIR).
"""

import random
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
from harness.figures import Figure
from harness.flown import SCENARIOS
from harness.main import main
from harness.options import positive
from harness.session import Session
from harness.statistics import Goal, Spread, extent, judge

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.host import facts
from windtunnel.measure.compare import Side
from windtunnel.measure.compare import judge as compare
from windtunnel.measure.compare.reading import Reading, read
from windtunnel.measure.flight import fly
from windtunnel.scenario import here, load, resolve

EXTRA = 0.03
COMPARISONS = 100
ALLOWED_S = 600
"""Of flights, for one comparison."""
MOST_SHARE = 2 / 3
"""Of the triples in one comparison, so that stretches differ."""
MOST_ROUNDS = 3
"""Times --triples: so many are flown at the most, those with an invalid run included."""
ATTEMPTS = 5
"""Of the first flight, where the host disturbs it."""
NAMES = ("a", "same", "more")
SERVER = ("nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx")


def more(parser: ArgumentParser) -> None:
    """Options of this bench alone."""
    parser.add_argument("--triples", type=positive(int), default=120, help="triples that are flown")
    parser.add_argument("--record", type=Path, metavar="DIR", help="keep them in DIR, new")
    parser.add_argument("--from", type=Path, dest="pool", metavar="DIR", help="read them from DIR and fly nothing")


def measure(session: Session) -> list[Figure]:
    pool = session.options.pool or record(session, session.options.record or session.directory / "pool")
    triples = read_pool(pool)
    pair_s = 2 / 3 * seconds(triples) / len(triples)
    pairs = max(2, min(int(ALLOWED_S / pair_s), int(len(triples) * MOST_SHARE)))
    session.say(
        f"{len(triples)} triples; {pairs} pairs a comparison, {pairs * pair_s / 60:.1f} minutes of flights each"
    )
    coin = random.Random(1)
    same = [verdict(triples, pairs, coin, "same") for _ in range(COMPARISONS)]
    extra = [verdict(triples, pairs, coin, "more") for _ in range(COMPARISONS)]
    silent = sum(word == "no difference shown" for word, _ in same)
    found = sum(word == "slower" for word, _ in extra)
    smallest = [least for _, least in (*same, *extra)]
    differ = 100 * (np.mean([log_rate(t["more"]) for t in triples]) - np.mean([log_rate(t["a"]) for t in triples]))
    session.say(f"over all triples B answers {differ:+.2f}% of A's messages more a second")
    details = {"pairs": pairs, "triples": len(triples), "same": same, "extra": extra, "difference_percent": differ}
    return [
        counted(session, "compared with itself: no difference shown", silent, 93, details),
        counted(session, f"{EXTRA:.0%} of extra work: slower", found, 80, {}),
        Figure("smallest difference that could have been found", session.memory, extent(smallest), "%"),
    ]


def counted(session: Session, name: str, count: int, least: int, details: dict) -> Figure:
    spread, goal = Spread(count, count, count, COMPARISONS, "range"), Goal(least, "at least")
    return Figure(name, session.memory, spread, "of 100", goal=goal, verdict=judge(spread, goal), details=details)


def verdict(triples: list[dict[str, Reading]], pairs: int, coin: random.Random, against: str) -> tuple[str, float]:
    """The word for a stretch of the triples, and the smallest difference that it could have found, %."""
    begin = coin.randrange(len(triples) - pairs + 1)
    stretch = triples[begin : begin + pairs]
    sides = [Side(Path(name), [triple[name] for triple in stretch]) for name in ("a", against)]
    (point,) = compare(*sides).points
    (judged,) = point.judged
    deciding = next((m for m in point.measures if m.metric == judged.decided_by and m.interval), None)
    if deciding is None:
        raise UserError(f"no comparison: {judged.verdict}: {'; '.join(judged.reasons)}")
    return judged.verdict, deciding.interval.smallest


def record(session: Session, directory: Path) -> Path:
    """Flies the triples into the new `directory`. One with an invalid run is flown again."""
    ticks = extra_ticks(session)
    sets = {name: [] for name in NAMES} | {"more": [f"workload.0.extra_ticks={ticks}"]}
    host, coin, kept = facts.collect(), random.Random(1), 0
    wanted = session.options.triples
    with Interrupts() as interrupts:
        for number in range(1, MOST_ROUNDS * wanted + 1):
            valid = []
            for name in coin.sample(NAMES, len(NAMES)):
                flight = resolve(load(SCENARIOS / "compare.toml", [*session.sets(), *sets[name]]), here())
                landing = fly(flight, directory / f"{number:04}" / name, interrupts, host=host)
                if landing.interrupted:
                    raise UserError(f"interrupted after {kept} triples", remedy=f"--from {directory} reads them")
                valid.append(landing.verdict.valid)
            kept += all(valid)
            if number % 10 == 0:
                session.say(f"{kept} of {wanted} triples")
            if kept == wanted:
                break
    return directory


def extra_ticks(session: Session) -> int:
    """The scenario's own, and EXTRA of the server's work on one message, from the stages of a first flight."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            stages = session.fly("compare.toml", {"accounting.level": "cycles"}).stage_ticks()
            break
        except UserError:
            if attempt == ATTEMPTS:
                raise
    work = sum(stages["server", stage]["work"] or 0.0 for stage in SERVER)
    session.say(f"the server works {work:.0f} ticks on a message, of which {EXTRA:.0%} are {EXTRA * work:.1f}")
    base = load(SCENARIOS / "compare.toml").workload[0].extra_ticks
    return base + max(1, round(EXTRA * work))


def read_pool(directory: Path) -> list[dict[str, Reading]]:
    """The triples without an invalid run, in the order of time. Raises UserError where there are too few."""
    triples = []
    for triple in sorted(directory.glob("*")):
        if all((triple / name / "run.json").is_file() for name in NAMES):
            readings = {name: read(triple / name) for name in NAMES}
            if not any(reading.reasons for reading in readings.values()):
                triples.append(readings)
    if len(triples) < 3:
        raise UserError(
            f"{directory}: {len(triples)} triples of valid runs, 3 are needed", remedy="--record DIR flies some"
        )
    return triples


def seconds(triples: list[dict[str, Reading]]) -> float:
    """From the first start to the last, a triple more: what was flown, with all that lies between flights."""
    starts = sorted(reading.started.timestamp() for triple in triples for reading in triple.values() if reading.started)
    gaps = np.diff(starts)
    return float(np.median(gaps)) * len(starts)


def log_rate(reading: Reading) -> float:
    return float(np.log(next(v for (_, metric), v in reading.figures.items() if metric == "answered_per_s" and v)))


if __name__ == "__main__":
    main(__doc__, measure, more=more)
