"""What pipelines of a configuration do without a peer, if they have only some of the stages."""

from typing import Literal

from windtunnel.parts.axio.config import AxioConfig, AxioWorkload
from windtunnel.parts.axio.config_keys import PHASES

Direction = Literal["sends", "receives"]
_STAGES: dict[str, Direction] = {"client": "sends", "server": "receives"}
_ONLY: dict[Direction, set[str]] = {"sends": {"app_tx", "disp_tx", "nic_tx"}, "receives": {"nic_rx", "disp_rx"}}
_IDLE: dict[Direction, tuple[str, ...]] = {"sends": ("nic_rx", "disp_rx", "app_rx"), "receives": ("nic_tx",)}
"""Stages that the pipeline lacks, and that run here all the same: they have nothing to do."""


def direction_of(workload: AxioWorkload) -> Direction | None:
    """What a pipeline does alone; None if it does both, or less than a packet needs."""
    stages = {PHASES.get(phase) for phase in workload.phases}
    return next((direction for direction, only in _ONLY.items() if stages == only), None)


def direction(config: AxioConfig, side: str, transport: str | None) -> Direction | None:
    """What all pipelines of a file do, each alone; None if a scenario with both sides is what it becomes, or nothing does."""
    alone = {direction_of(workload) for workload in config.workloads}
    echo = config.values.get("packet_handler")
    if transport or alone != {_STAGES[side]} or (echo is not None and echo.value == "echo"):
        return None
    return _STAGES[side]


def idle_stages(workload: AxioWorkload) -> tuple[str, ...]:
    """Stages of a worker beside those of the pipeline."""
    alone = direction_of(workload)
    return _IDLE[alone] if alone else ()
