"""The connection to a Ray cluster, or why there is none, within a time."""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from windtunnel.errors import UserError
from windtunnel.fleet.keys import ADDRESS

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # Ray reads it when it is imported

import grpc
import ray
from ray.exceptions import RayError

REMEDY = "start the cluster with `ray start --head`, and name its head: ray://HOST:10001 from anywhere, HOST:6379 or auto on one of its nodes"


@contextmanager
def connected(address: str, timeout_s: float) -> Iterator[None]:
    """Raises UserError where nothing, or something else, is at the address, and where the cluster does not take this driver."""
    _check_there(address, timeout_s)
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, OSError, RayError, RuntimeError, ValueError) as error:
        raise UserError(f"{address}: no Ray cluster can be used there: {_said(error)}", remedy=REMEDY) from None
    try:
        yield
    finally:
        ray.shutdown()


def _check_there(address: str, timeout_s: float) -> None:
    """Ray itself tries for minutes. Both its ports are those of gRPC servers."""
    if address == "auto":
        return
    found = ADDRESS.fullmatch(address)
    assert found is not None
    until = time.monotonic() + min(timeout_s, 10)
    with grpc.insecure_channel(f"{found['host']}:{found['port']}") as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=until - time.monotonic())
        except grpc.FutureTimeoutError:
            raise UserError(f"{address}: no Ray cluster responds there", remedy=REMEDY) from None


def _said(error: Exception) -> str:
    """Its first lines; of a traceback, which a cluster sends where it cannot serve a driver, the last one says why."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if any(line.startswith("Traceback ") for line in lines):
        lines = [lines[0], lines[-1]]
    return " ".join(lines[:3]) or type(error).__name__
