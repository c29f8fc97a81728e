"""The socket at which dpdk-telemetry.py reaches an engine during a run."""

from pathlib import Path

from windtunnel.engine.own_directory import in_tmp, runtime_directory
from windtunnel.engine.plan import Plan

SOCKET = "dpdk_telemetry.v2"
LONGEST_PATH = 107
"""Bytes that a unix socket's address has room for. EAL does not start if its telemetry finds no room."""


def socket_path(prefix: str) -> Path | None:
    """The socket of an engine; None if the runtime directory's path leaves no room for one."""
    path = runtime_directory() / "dpdk" / prefix / SOCKET
    return path if len(bytes(path)) <= LONGEST_PATH else None


def how_to_ask(plan: Plan) -> str:
    """The command that asks this engine, or why there is none."""
    if "--no-telemetry" in plan.eal.args:
        return f"none: {runtime_directory()} is too long a path for its socket"
    where = f"RUNTIME_DIRECTORY={in_tmp()} " if runtime_directory() == in_tmp() else ""  # it would look in /tmp itself
    return f"{where}dpdk-telemetry.py -f {plan.eal.file_prefix}"
