"""Delays of workers as variants of a run: one stage of each kind of worker waits after its calls."""

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.engine.plan import Delay, Variant
from windtunnel.measure.variants import variant
from windtunnel.parts.diagnose.model import WorkerSeen
from windtunnel.parts.diagnose.observation import Observation

PARTS = (0.1, 0.3)
"""Delays, as parts of what a message takes."""
HELD = 3.0
"""The delay of a worker that is to hold still, likewise: it waits for three quarters of the time."""
LATER, ALONE = " later", "alone: "
"""Parts of the names of variants."""


@dataclass(frozen=True)
class Delayed:
    """Workers that run the same stages, and the one of these that is delayed."""

    workers: tuple[WorkerSeen, ...]
    stage: str

    def delay(self, part: float, observation: Observation) -> Delay:
        """A delay of that part of what a message takes. Raises NotMeasured without a message."""
        side, stage = self.stage.split()
        of_worker = (self.workers[0].engine, self.workers[0].worker)
        slack = next(slack for slack in observation.slacks if (slack.engine, slack.worker) == of_worker)
        packets = observation.packets_a_message(slack, self.stage)
        ns = round(part * observation.ns_a_message / packets, 1)
        return Delay.model_validate({"endpoint": side, "stage": stage, "ns": ns})

    def variants(self, observation: Observation) -> list[Variant]:
        """The delays as variants. Raises NotMeasured without a message."""
        return [variant(f"{self.stage} {part:.0%}{LATER}", delays=[self.delay(part, observation)]) for part in PARTS]


def delayed(workers: Sequence[WorkerSeen]) -> list[Delayed]:
    """One delay for each kind of worker: its stage with the most work among those that no other kind runs, if it has any."""
    kinds: dict[frozenset[str], list[WorkerSeen]] = {}
    for worker in workers:
        kinds.setdefault(frozenset(worker.stages), []).append(worker)
    delays = []
    for stages, of_kind in kinds.items():
        others = {stage for other in kinds for stage in other if other != stages}
        own = [stage for stage in of_kind[0].stages if stage not in others] or list(of_kind[0].stages)
        if own:
            delays.append(Delayed(tuple(of_kind), own[0]))
    return delays


def variants_alone(delays: Sequence[Delayed], observation: Observation) -> list[Variant]:
    """For each kind of worker a variant in which all other kinds hold still for most of the time. Raises NotMeasured without a message."""
    return [
        variant(
            f"{ALONE}{alone.stage}",
            delays=[other.delay(HELD, observation) for other in delays if other is not alone],
        )
        for alone in delays
        if len(delays) > 1
    ]
