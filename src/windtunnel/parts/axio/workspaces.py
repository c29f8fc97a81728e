"""The workspaces of a configuration on CPUs of a host: workers, each with the stages that its workspace runs."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from windtunnel.exchange.source import Fault
from windtunnel.parts.axio.config import AxioConfig, AxioWorkload
from windtunnel.parts.axio.config_keys import PHASES
from windtunnel.parts.axio.pipelines import idle_stages


def workers(config: AxioConfig, cpus: Sequence[int], faults: list[Fault]) -> list[dict[str, Any]]:
    """The tables of `worker`, in the order of the file. `cpus`: of the NUMA node, in the order in which Axio counts them; a core that is not
    among them is one of the `faults`."""
    stages: dict[int, list[str]] = {}
    first_application = first_dispatcher = 0
    for workload in config.workloads:
        for workspace, stage in _placed(workload, first_application, first_dispatcher):
            core = config.workspaces.get(workspace, workspace)
            if core < len(cpus):
                stages.setdefault(cpus[core], []).append(stage)
            else:
                what = f"workspace {workspace} is on core {core} of the node, and --cpus has {len(cpus)}"
                faults.append(Fault(workload.line, what, "the CPUs of the whole node, in its order"))
        first_application += (
            sum(len(applications) for applications, _ in workload.groups) if _has_applications(workload) else 0
        )
        first_dispatcher += len(workload.groups)
    return [{"core": cpu, "stages": names} for cpu, names in stages.items()]


def _placed(workload: AxioWorkload, first_application: int, first_dispatcher: int) -> list[tuple[int, str]]:
    """Each stage with its workspace, in the order of the loop."""
    even = workload.is_even
    groups = sorted(workload.groups, key=lambda group: -len(group[0])) if even else workload.groups
    firsts = list(accumulate((len(applications) for applications, _ in groups), initial=first_application))
    placed = []
    for stage in (*(PHASES[phase] for phase in workload.phases if phase in PHASES), *idle_stages(workload)):
        for place, (applications, dispatcher) in enumerate(groups):
            if stage.startswith("app_"):
                for turn, application in enumerate(applications):
                    # even groups: application a takes dispatcher a modulo their number
                    index = first_application + turn * len(groups) + place if even else firsts[place] + turn
                    placed.append((application, f"{stage}:{index}"))
            elif stage != "disp_tx" or _has_applications(workload):
                placed.append((dispatcher, f"{stage}:{first_dispatcher + place}"))
    return placed


def _has_applications(workload: AxioWorkload) -> bool:
    """Whether it has applications, and not a packet handler alone, whose packets disp_rx itself hands to nic_tx."""
    return bool({"app_rx", "app_tx"} & {PHASES.get(phase) for phase in workload.phases})
