"""A scenario as Axio's tuner writes it: the colon form, a file for each side (send_config.out, recv_config.out)."""

from collections.abc import Mapping
from pathlib import Path

from windtunnel.engine.plan_values import Side
from windtunnel.errors import UserError
from windtunnel.parts.axio.config import MOST_TEXT
from windtunnel.parts.axio.config_keys import BATCHES, COLON, PHASES
from windtunnel.runs.files import replace
from windtunnel.scenario import Scenario, load
from windtunnel.scenario.topology import Topology, endpoint, topologies
from windtunnel.text_file import read_regular

FILES = {"client": "send_config.out", "server": "recv_config.out"}
_BATCH_KEYS = {name: next(key for key, toml_name in COLON.items() if toml_name == name) for name in BATCHES}
_TUNED = (
    "app_rx_batch_size",
    "app_tx_batch_size",
    "dispatcher_rx_batch_size",
    "dispatcher_tx_batch_size",
    "nic_rx_post_size",
    "nic_tx_post_size",
)
_ORDER = {
    "client": ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx"),
    "server": ("nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx"),
}
_UNKNOWN = ("numa", "phy_port", "device_pcie")
NS_PER_S = 10**9


def out_texts(scenario: Scenario) -> dict[str, str]:
    """File name -> text, for each side that the scenario runs. Raises UserError for a topology that Axio cannot express."""
    sides = {topology.side: topology for topology in topologies(scenario)}
    spaces = {side: _workspaces(scenario, topology) for side, topology in sides.items()}
    return {FILES[side]: _text(scenario, topology, spaces) for side, topology in sides.items()}


def write_axio(file: Path) -> list[Path]:
    """Writes the scenario of a file in Axio's form to files beside it. Raises UserError if one exists with another content."""
    written = []
    for name, text in out_texts(load(file)).items():
        path = file.with_name(name)
        if not path.exists():
            replace(path, text)
        elif read_regular(path, MOST_TEXT) != text.encode():
            raise UserError(f"{path}: exists already", remedy="move it away")
        written.append(path)
    return written


def _text(scenario: Scenario, topology: Topology, spaces: Mapping[Side, list[list[tuple[list[int], int]]]]) -> str:
    side, keys = topology.side, topology.keys
    peer: Side = "server" if side == "client" else "client"
    remote_endpoint = endpoint(scenario, peer)
    batches = {name: getattr(keys.batch, stage) for name, stage in BATCHES.items()}
    rows: list[tuple[str, object]] = [
        ("kAppCoreNum", len(topology.applications)),
        ("kDispQueueNum", len(topology.dispatchers)),
    ]
    rows += [(_BATCH_KEYS[name], batches[name]) for name in _TUNED]
    seconds = max(1, round(scenario.duration / NS_PER_S))
    addresses = [("local_ip", keys.ip), ("local_mac", keys.mac)]
    if remote_endpoint is not None:
        addresses += [("remote_ip", remote_endpoint.ip), ("remote_mac", remote_endpoint.mac)]
    about: list[tuple[str, object]] = [("iteration", seconds), ("duration", 1)]
    about += [(name, value.replace(":", ".") if name.endswith("mac") else value) for name, value in addresses]
    lines = ["# -----------------Axio Tuner Configuration-----------------", *_lines(rows)]
    lines += ["# -----------------Axio Datapath Configuration-----------------"]
    for n, groups in enumerate(spaces[side]):
        remote = ",".join(str(d) for _, d in spaces.get(peer, spaces[side])[n])
        applications = "|".join(",".join(map(str, apps)) for apps, _ in groups)
        dispatchers = "|".join(str(dispatcher) for _, dispatcher in groups)
        lines.append(f"workload : {n + 1} : {_phases(topology)} : {remote} : {applications} : {dispatchers}")
    lines += _lines(about)
    lines += [f"# {name} : of your host; a scenario does not have it" for name in _UNKNOWN]
    return "\n".join(lines) + "\n"


def _lines(rows: list[tuple[str, object]]) -> list[str]:
    return [f"{name} : {value}" for name, value in rows]


def _phases(topology: Topology) -> str:
    present = {stage for stage, _ in topology.stages}
    names = {stage: name for name, stage in PHASES.items() if name[0] in "RT"}
    return ",".join(names[stage] for stage in _ORDER[topology.side] if stage in present)


def _workspaces(scenario: Scenario, topology: Topology) -> list[list[tuple[list[int], int]]]:
    """The groups of each workload: the workspaces of some applications, and that of the dispatcher that they share."""
    workspaces, used = [], 0
    for n in range(len(scenario.workload)):
        applications = [i for i, app in enumerate(topology.applications) if app.workload == n]
        dispatchers = [i for i, disp in enumerate(topology.dispatchers) if disp.workload == n]
        if any(len(topology.applications[i].dispatchers) > 1 for i in applications) or not applications:
            raise UserError(
                f"{topology.side}: workload {n + 1} has {len(applications)} applications for {len(dispatchers)} dispatchers, "
                "and in Axio an application has one dispatcher",
                remedy="at least as many apps as dispatchers",
            )
        ids = {app: used + place for place, app in enumerate(applications)}
        used += len(applications)
        groups = []
        for dispatcher in dispatchers:
            own = [ids[app] for app in applications if dispatcher in topology.applications[app].dispatchers]
            if topology.colocated[n]:
                groups.append((own, own[0]))
            else:
                groups.append((own, used))
                used += 1
        workspaces.append(groups)
    return workspaces
