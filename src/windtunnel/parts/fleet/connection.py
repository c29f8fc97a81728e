"""The connection to a Ray cluster, or the reason why there is none, within a time limit."""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from windtunnel.errors import UserError
from windtunnel.parts.fleet.fleet_file import ADDRESS

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # Ray reads it when it is imported

import grpc
import ray
from ray.exceptions import AuthenticationError, RayError

HEAD_METHOD, CLIENT_METHOD = "/ray.rpc.NodeInfoGcsService/CheckAlive", "/ray.rpc.RayletDriver/ClusterInfo"
"""A method to which each of Ray's ports responds; in an empty request each field has its default."""
REPLY_S = 10
REMEDY = "start the cluster with `ray start --head`, and name its head: ray://HOST:10001 from anywhere, HOST:6379 or auto on one of its nodes"
TOKEN_REMEDY = "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH, for each `ray start` and for windtunnel"


@contextmanager
def connected(address: str, timeout_s: float, without_token: bool) -> Iterator[None]:
    """Connects to a cluster. `without_token`: a cluster that requires no token is used, too. Raises UserError if there is no Ray cluster at the
    address, or if the cluster refuses this driver or would accept any."""
    if address != "auto":
        _check_there(address, timeout_s)
        if not without_token:
            check_guarded(address)
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except AuthenticationError as error:
        raise UserError(
            f"{address}: the cluster refuses this driver: {_reason_text(error)}", remedy=TOKEN_REMEDY
        ) from None
    except (ConnectionError, OSError, RayError, RuntimeError, ValueError) as error:
        raise UserError(f"{address}: no Ray cluster can be used there: {_reason_text(error)}", remedy=REMEDY) from None
    try:
        if address == "auto" and not without_token:
            check_guarded(ray.get_runtime_context().gcs_address)
        yield
    finally:
        ray.shutdown()


def check_guarded(address: str) -> None:
    """Sends a request without a token. Raises UserError unless the cluster requires one: Ray before 2.52 has no tokens."""
    method = CLIENT_METHOD if address.startswith("ray://") else HEAD_METHOD
    with _channel(address) as channel:
        try:
            channel.unary_unary(method)(b"", timeout=REPLY_S)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                return
            if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                raise UserError(f"{address}: no Ray cluster responds there", remedy=REMEDY) from None
    raise UserError(
        f"{address}: the cluster asks for no token: anybody who can reach it can run code as its user",
        remedy=f"{TOKEN_REMEDY}; or without_token = true in a fleet file",
    )


def _channel(address: str) -> grpc.Channel:
    match = ADDRESS.fullmatch(address)
    assert match is not None
    return grpc.insecure_channel(f"{match['host']}:{match['port']}")


def _check_there(address: str, timeout_s: float) -> None:
    """Checks that a cluster responds, because Ray itself tries for minutes. Both of its ports are gRPC servers."""
    until = time.monotonic() + min(timeout_s, 10)
    with _channel(address) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=until - time.monotonic())
        except grpc.FutureTimeoutError:
            raise UserError(f"{address}: no Ray cluster responds there", remedy=REMEDY) from None


def _reason_text(error: Exception) -> str:
    """The first lines of an error. Of a traceback, which a cluster sends if it cannot serve a driver, the last line has the reason."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if any(line.startswith("Traceback ") for line in lines):
        lines = [lines[0], lines[-1]]
    return " ".join(lines[:3]) or type(error).__name__
