"""What a run of several variants needs on its host: room for the largest value of any variant."""

from dataclasses import replace

from windtunnel.engine.plan import Application, Variant, Variants
from windtunnel.engine.plan_values import STAGES
from windtunnel.scenario.topology import Topology


def widened(topology: Topology, variants: Variants | None) -> Topology:
    """The endpoint with the largest batches and in-flight limits of any variant."""
    if variants is None:
        return topology
    own = topology.keys.batch
    changed = [variant.batch.get(topology.side, {}) for variant in variants.variants]
    batch: dict[str, int] = {
        stage: max(getattr(own, stage), *(sizes.get(stage, 1) for sizes in changed)) for stage in STAGES
    }
    keys = topology.keys.model_copy(update={"batch": own.model_copy(update=batch)})
    return replace(topology, keys=keys, applications=tuple(_widened(topology.applications, variants)))


def longest_delay_ns(topologies: list[Topology], variants: Variants | None) -> int:
    """The longest time that a variant adds to one call of a stage."""
    if variants is None:
        return 0
    wide = {topology.side: widened(topology, variants).keys.batch for topology in topologies}
    added: list[float] = [
        sum(delay.ns for delay in variant.delays if (delay.endpoint, delay.stage) == (side, stage))
        * getattr(batch, stage)
        for variant in variants.variants
        for side, batch in wide.items()
        for stage in STAGES
    ]
    return round(max(added))


def _widened(applications: tuple[Application, ...], variants: Variants) -> list[Application]:
    together = sum(application.inflight for application in applications)
    return [
        application.model_copy(
            update={
                "inflight": max(_inflight(variant, application.inflight, together) for variant in variants.variants)
            }
        )
        for application in applications
    ]


def _inflight(variant: Variant, own: int, together: int) -> int:
    """An application's part of the budget of all; engine/run/variants.cc divides it likewise."""
    return own if variant.inflight is None or not own else max(1, variant.inflight * own // together)
