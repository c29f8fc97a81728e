"""Takes samples of one build's benches on request, one JSON line each; `--against` starts one such process for each build.

It runs on the Python and on the bench harness of the checkout that it measures, so it uses only what every version of that harness has:
`Session.in_turns`, `Session.rounds`, and `measure` of the bench. Requests: `sample`, and `next` for the next measurement of the bench.
"""

import importlib
import json
import os
import sys
from types import ModuleType

REFERENCES = ("testpmd", "bare", "linear", "flowgen", "txonly")
"""How the names of contestants begin that are no build of ours."""


def main() -> None:
    bench = sys.argv.pop(1)
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the bench prints is no response
    from harness import session as harness_session
    from harness.options import options
    from windtunnel.errors import UserError

    class Asked(harness_session.Session):
        """A session whose samples are taken one by one, on request."""

        def in_turns(self, contestants, unit, scale=1.0):
            ours = {name: take for name, take in contestants.items() if not name.startswith(REFERENCES)}
            return self._serve(lambda: {name: take() for name, take in ours.items()}, unit, scale, list(contestants))

        def rounds(self, take_round, unit, scale=1.0):
            return self._serve(take_round, unit, scale, [])

        def _serve(self, take_round, unit, scale, names):
            write({"unit": unit, "scale": scale, "compared": taken_names()})
            taken = []
            while request() == "sample":
                try:
                    samples = take_round()
                except UserError as error:  # a run that the host spoiled: whoever asks decides whether to try again
                    write({"failed": error.message})
                    continue
                taken.append(samples)
                ours = {name: sample for name, sample in samples.items() if not name.startswith(REFERENCES)}
                write({"samples": {name: told(sample) for name, sample in ours.items()}})
            if not taken:
                sys.exit("no sample could be taken")
            one = next(iter(taken[0].values()))
            kept = {name: [samples.get(name, one) for samples in taken] for name in [*names, *taken[0]]}
            return harness_session.Rounds(kept, {name: [] for name in kept})

    def told(sample) -> list:
        """Value, lost time, and where the harness of the checkout has it the state of the host."""
        where = [sample.state, sample.line_ns] if hasattr(sample, "where") else []
        return [sample.value, sample.noise.lost, *where]

    names: list[str] = []

    def taken_names() -> list[str]:
        """What the bench called the results of the measurement before, and forgets them."""
        found = list(names)
        names.clear()
        return found

    def note_name(session, name, *_, **__) -> None:
        """In the place of `compared`: the results themselves are not wanted."""
        names.append(name)

    def write(document) -> None:
        lines.write(json.dumps(document) + "\n")
        lines.flush()

    def request() -> str:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        return line.strip()

    module = importlib.import_module(bench)
    for user in (module, sys.modules.get("harness.forwarding")):
        if hasattr(user, "compared"):
            user.compared = note_name
    if bench == "sharing_slices":
        compare_slicers(module)
    given = options("", getattr(module, "more", None))
    with Asked(given, given.memory) as session:
        module.measure(session)
    write({"end": True, "compared": taken_names()})


def compare_slicers(module: ModuleType) -> None:
    """Makes the bench's trials, which are no contestants in turn, into two measurements a number of tenants: p99 and throughput."""
    from harness.noise import Noise
    from harness.sample import Sample

    trial = getattr(module, "run_trial", None) or module.fly

    def against_the_tick(session, journal, slicer, count):
        def p99():
            sliced = trial(session, journal, slicer, module.Load(count))
            return {f"{count} tenants, p99 under {slicer}": Sample(sliced.latency_us(99), Noise(None, None))}

        def throughput():
            alone = trial(session, journal, "tick", module.Load(1))
            sliced = trial(session, journal, slicer, module.Load(count))
            share = 100 * sliced.useful(alone.poll_ns) / alone.useful(alone.poll_ns)
            return {f"{count} tenants, throughput of one alone under {slicer}": Sample(share, Noise(None, None))}

        session.rounds(p99, "us")
        session.rounds(throughput, "%")
        return []

    module.against_the_tick = against_the_tick
    module.shares = lambda *_: None


if __name__ == "__main__":
    main()
