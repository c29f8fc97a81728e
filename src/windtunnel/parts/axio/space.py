"""The search space of Axio's tuner as a space file of `tune`: the lists of a workload are the most that the tuner may use of them."""

from collections.abc import Sequence
from typing import Any

from windtunnel.exchange.source import Fault, Foreign
from windtunnel.exchange.toml_text import text_of
from windtunnel.measure.study.constraints import MAX_PRODUCT
from windtunnel.parts.axio.config import AxioConfig
from windtunnel.parts.axio.config_keys import BATCHES
from windtunnel.parts.axio.pipelines import direction_of

BATCH_SIZES = (8, 16, 32, 64, 128)
_NOTES = (
    "apps and dispatchers of a workload: from one to as many as its lists name. Axio's tuner chooses cores; here Windtunnel does",
    "each dispatcher has at least one application",
    "batch: the batches that the configuration names change together, among sizes that are no part of it",
    "inflight stays that of the scenario: Axio's limit is for each application",
)


def space_text(foreign: Foreign, config: AxioConfig, side: str) -> str:
    """The space file. Raises UserError if the lists give no choice, or more points than a space may have."""
    factors: list[dict[str, Any]] = []
    constraints = []
    points = 1
    for place, workload in enumerate(config.workloads):
        if direction_of(workload):
            what = f"workload {workload.id}: a pipeline that only sends or only receives, and a tuner counts responses"
            raise foreign.error([Fault(workload.line, what, "no --space")])
        if not workload.is_even:
            what = f"workload {workload.id}: groups of unlike numbers of applications, and a tuner spreads them evenly"
            raise foreign.error([Fault(workload.line, what, "groups alike, or larger by one; or no --space")])
        applications = {application for group, _ in workload.groups for application in group}
        dispatchers = {dispatcher for _, dispatcher in workload.groups}
        names = []
        for key, most in (("apps", len(applications)), ("dispatchers", len(dispatchers))):
            if most > 1:
                names.append(name := f"{key}_{workload.id}")
                factors.append({"name": name, "key": f"workload.{place}.{key}", "values": [*range(1, most + 1)]})
                points *= most
        if len(names) > 1:
            constraints.append(f"{names[0]} >= {names[1]}")
    stages = [
        stage for name, stage in BATCHES.items() if name in config.values and (stage, side) != ("app_tx", "server")
    ]
    if not factors:
        what = "every workload has one application and one dispatcher: its lists give the tuner no choice"
        raise foreign.error([Fault(0, what, "lists as in 0,1,2,3 : 0|1|2|3 : 0|1|2|3, or `tune` without --space")])
    if stages:
        sizes = sorted({*BATCH_SIZES, *_own_sizes(config)})
        factors.append({"name": "batch", "keys": [f"{side}.batch.{stage}" for stage in stages], "values": sizes})
        points *= len(sizes)
    if points > MAX_PRODUCT:
        what = f"{points:,} combinations of applications, dispatchers and batches; a space has at most {MAX_PRODUCT:,}"
        raise foreign.error([Fault(config.workloads[-1].line, what, "shorter lists, or fewer workloads")])
    question = f"How many cores and queues are best for Axio's {foreign.file.name}?"
    return text_of(
        question, _NOTES, {"constraints": constraints, "factor": factors} if constraints else {"factor": factors}
    )


def _own_sizes(config: AxioConfig) -> Sequence[int]:
    """Those of the file, so that the file is a point of the space if its batches are alike."""
    return [entry.value for name in BATCHES if (entry := config.values.get(name)) and type(entry.value) is int]
