"""Why a run over RDMA may be invalid."""

from windtunnel.engine.reason import Reason

REASONS = {
    "region wrong": Reason(
        "An RDMA READ or WRITE moved other bytes than those of its place in the region.",
        "Look at the RDMA device and its provider: run again with another `provider` to tell it from the rest.",
        is_fault=True,
    ),
}
