"""The connection to a Ray cluster, or the reason why there is none, within a time limit."""

import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.parts.fleet.fleet_file import ADDRESS, is_address
from windtunnel.text_file import open_regular

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # Ray reads it when it is imported

import grpc
import ray
from ray.exceptions import AuthenticationError, RayError

HEAD_METHOD, CLIENT_METHOD = "/ray.rpc.NodeInfoGcsService/CheckAlive", "/ray.rpc.RayletDriver/ClusterInfo"
"""A method to which each of Ray's ports responds; in an empty request each field has its default."""
REPLY_S = 10
REMEDY = "start the cluster with `ray start --head`, and name its head: ray://HOST:10001 from anywhere, HOST:6379 or auto on one of its nodes"
NAMED_REMEDY = "name the cluster: --on HOST:6379, or RAY_ADDRESS=HOST:6379 in the environment"
MOST_ADDRESS_BYTES = 512
ROOT = 0
TOKEN_REMEDY = "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH, for each `ray start` and for windtunnel"


@contextmanager
def connected(address: str, timeout_s: float, without_token: bool) -> Iterator[None]:
    """Connects to a cluster. `without_token`: a cluster that requires no token is used, too. Raises UserError if there is no Ray cluster at the
    address, or if the cluster refuses this driver or would accept any."""
    if address == "auto":
        address = address_of_this_node()
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
        yield
    finally:
        ray.shutdown()


def address_of_this_node() -> str:
    """The cluster of this node: RAY_ADDRESS, else what `ray start` has written. Ray itself takes what any user has written there, or has in the
    command line of a process called raylet, and sends its token there. Raises UserError unless this user or root has written it."""
    named = os.environ.get("RAY_ADDRESS", "")
    if named in ("", "auto"):
        temporary = os.environ.get("RAY_TMPDIR", os.environ.get("TMPDIR", "/tmp"))
        named = _written_by_us(Path(temporary, "ray", "ray_current_cluster"))
    if named == "auto" or not is_address(named):
        raise UserError(f'auto: "{named}" is not an address of a Ray cluster', remedy=NAMED_REMEDY)
    return named


def _written_by_us(path: Path) -> str:
    """Ray makes the directory everybody's: the owner of the file says who wrote it. Raises UserError."""
    try:
        descriptor = open_regular(path, follow=False)
    except OSError as error:
        raise UserError(f"auto: no Ray cluster is known here: {path}: {error.strerror}", remedy=REMEDY) from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if status.st_uid not in (ROOT, os.geteuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise UserError(f"auto: {path} may be written by user {status.st_uid}, or others", remedy=NAMED_REMEDY)
        return file.read(MOST_ADDRESS_BYTES).decode(errors="replace").strip()


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
