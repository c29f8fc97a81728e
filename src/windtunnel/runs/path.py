"""The cost of a packet at an endpoint, and the throughput that its workers could reach."""

from collections.abc import Sequence

from windtunnel.runs.rows import StageRow, StepRow, WorkerRow


def packet_ns(stages: Sequence[StageRow], steps: Sequence[StepRow]) -> float | None:
    """ns of work and stall of a packet that passes each of these stages once; None as soon as one of them was not timed.

    Handlers read the clock for their steps in timed calls alone, and so does this cost stand in the stages' work: it is taken out.
    """
    costs = [row.work_ns + (row.stall_ns or 0) for row in stages if row.work_ns is not None]
    if len(costs) < len(stages) or not costs:
        return None
    stamps = sum((step.stamp_ns or 0) * (step.packets_share or 0) for step in steps if not step.traffic)
    return sum(costs) - stamps


def derived_mpps(
    stages: Sequence[StageRow], steps: Sequence[StepRow], workers: Sequence[WorkerRow], endpoint: str
) -> float | None:
    """Millions of packets per second that the endpoint's workers could pass if they did nothing else: derived, not measured.

    None if its workers also run the other endpoint, or do not all run the same stages: then a sum has no meaning.
    """
    mine = [row for row in workers if endpoint in row.sides.split(" + ")]
    of = [row for row in stages if row.endpoint == endpoint]
    cost = packet_ns(of, [step for step in steps if step.endpoint == endpoint])
    shared = any(row.sides != endpoint for row in mine)
    if cost is None or cost <= 0 or not mine or shared:
        return None
    if len({row.instances for row in of}) != 1 or (of[0].instances or 0) % len(mine):
        return None
    return len(mine) * 1000 / cost
