"""Axio's keys: the values of each, and its conversion.

A key goes into the scenario (`axio_scenario` says where), or it is left out with a reason that the user reads, because it says
nothing about what is emulated. A key that is neither is refused.
"""

from typing import Any

BATCHES = {
    "app_tx_batch_size": "app_tx",
    "app_rx_batch_size": "app_rx",
    "dispatcher_tx_batch_size": "disp_tx",
    "dispatcher_rx_batch_size": "disp_rx",
    "nic_tx_post_size": "nic_tx",
    "nic_rx_post_size": "nic_rx",
}

COLON = {
    "kAppCoreNum": "application_core_count",
    "kDispQueueNum": "dispatcher_queue_count",
    "kAppTxMsgBatchSize": "app_tx_batch_size",
    "kAppTxBatchSize": "app_tx_batch_size",
    "kAppRxMsgBatchSize": "app_rx_batch_size",
    "kAppRxBatchSize": "app_rx_batch_size",
    "kDispTxBatchSize": "dispatcher_tx_batch_size",
    "kDispRxBatchSize": "dispatcher_rx_batch_size",
    "kNICTxPostSize": "nic_tx_post_size",
    "kNICRxPostSize": "nic_rx_post_size",
    "numa": "numa_node",
    "phy_port": "physical_port",
    "iteration": "iterations",
    "duration": "window_seconds",
    **{name: name for name in ("local_ip", "remote_ip", "local_mac", "remote_mac", "device_pcie", "device_name")},
}
"""Key of the colon form -> its name in TOML; older files lack `Msg` in two of them."""

_BUILD = (
    "backend roce_transport mtu rx_ring_entries tx_ring_entries mempool_size mempool_handler mempool_cache_size role"
)
_HANDLER = (
    "message_handler packet_handler apply_new_mbuf request_payload_bytes response_payload_bytes app_ticks_per_message"
)
_INFLIGHT = "inflight_limit_enabled inflight_messages"
_ADDRESSES = "local_ip remote_ip local_mac remote_mac device_pcie device_name"
_BATCH = " ".join(BATCHES)
_WORKSPACES = "application_workspaces dispatcher_workspaces"
TABLES = {
    "": "schema_version",
    "build": f"{_BUILD} {_HANDLER} {_INFLIGHT}",
    "runtime": f"numa_node physical_port iterations window_seconds {_BATCH}",
    "deployment": "role numa_node transport host ssh_port ssh_user workdir use_sudo",
    "deployment.topology": _WORKSPACES,
    "network": f"backend roce_transport physical_port rx_ring_entries tx_ring_entries {_ADDRESSES}",
    "handler": _HANDLER,
    "knobs.build": f"{_INFLIGHT} mtu mempool_handler",
    "knobs.runtime": f"application_core_count dispatcher_queue_count {_BATCH}",
    "other": "iterations window_seconds mempool_size mempool_cache_size",
    "metrics": "enabled jsonl_path human_output",
    "tuning": "max_iterations latency_slo_us warmup_windows sample_windows infrastructure_failure_limit",
    "tuning.noise": "throughput_relative_floor latency_relative_floor stage_time_relative_floor "
    "stall_time_relative_floor miss_rate_percentage_point_floor",
    "tuning.resources": _WORKSPACES,
}
"""Table of the TOML form -> its keys, over the three revisions of schema version 1. A key's own name is unambiguous."""

TOPOLOGIES = ("", "deployment.topology")
"""Tables that hold [[workspaces]] and [[workloads]]."""

NUMBERS = frozenset(
    f"schema_version mtu rx_ring_entries tx_ring_entries mempool_size mempool_cache_size request_payload_bytes "
    f"response_payload_bytes app_ticks_per_message inflight_messages iterations window_seconds {_BATCH}".split()
)
SWITCHES = frozenset({"apply_new_mbuf", "inflight_limit_enabled"})
CONVERTED = (
    frozenset(
        f"schema_version role backend roce_transport mempool_handler {_HANDLER} {_INFLIGHT} local_ip remote_ip local_mac remote_mac".split()
    )
    | NUMBERS
)

_COUNT = "set by the workloads"
_TUNER = "belongs to the tuner, not to the data path"
_SSH = "sets how Axio starts, not what it emulates"
AUTO_CPUS = 'Windtunnel chooses CPUs (cores = "auto")'
NO_NIC = 'this scenario uses the wire "ring"; set [wire] to use a NIC'
SKIPPED = {
    "application_core_count": _COUNT,
    "dispatcher_queue_count": _COUNT,
    "numa_node": AUTO_CPUS,
    "physical_port": NO_NIC,
    "device_pcie": NO_NIC,
    "device_name": NO_NIC,
    **dict.fromkeys(("enabled", "jsonl_path", "human_output"), "every run keeps its windows and its report"),
    **dict.fromkeys(("transport", "host", "ssh_port", "ssh_user", "workdir", "use_sudo"), _SSH),
    **dict.fromkeys([*TABLES["tuning"].split(), *TABLES["tuning.noise"].split(), *_WORKSPACES.split()], _TUNER),
}
"""Key -> why it is skipped."""

PHASES = {
    "TxApplication": "app_tx",
    "TxDispatcher": "disp_tx",
    "TxNIC": "nic_tx",
    "RXNIC": "nic_rx",
    "RXDispatcher": "disp_rx",
    "RxApplication": "app_rx",
    "dispatcher_tx": "disp_tx",
    "dispatcher_rx": "disp_rx",
    **{name: name for name in ("app_tx", "nic_tx", "nic_rx", "app_rx")},
}
HANDLERS = {
    **{name: name for name in ("empty", "t_app", "l_app", "m_app")},
    "file_write": "fs_write",
    "file_read": "fs_read",
    "key_value": "kv",
}
M_APP = {"state": "256KiB", "accesses": 16, "pattern": "sequential"}
"""Compiled into Axio (kStatefulMemorySizePerCore, kMemoryAccessRangePerPkt): 1 KiB of 256 in order, 16 lines a message."""
COMPILED: dict[str, Any] = {
    "message_handler": "t_app",
    "packet_handler": "empty",
    "request_payload_bytes": 982,
    "response_payload_bytes": 22,
    "inflight_limit_enabled": True,
    "inflight_messages": 1024,
}
"""The colon form does not say these: they are compiled into Axio. Axio's own converter to TOML takes these values."""
