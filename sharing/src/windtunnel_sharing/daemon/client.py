"""The client side of the API, over its Unix socket."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import httpx

from windtunnel.api.errors import UserError

TIMEOUT_S = 30.0
_NO_DAEMON = "windtunnel share serve FILE starts one; --socket names that of another"


class Client:
    """Context manager. Methods raise UserError: nobody listens, or what the daemon refused, in its own words."""

    def __init__(self, socket: Path):
        self._socket = socket
        transport = httpx.HTTPTransport(uds=str(socket), verify=False)  # no TLS: certificates take 50 ms to read
        self._http = httpx.Client(transport=transport, base_url="http://windtunnel", timeout=TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str) -> Any:
        return self.ask("GET", path)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        response = self._response(method, path, body)
        return response.json() if response.content else None

    def watch(self, since: int | None = None) -> Iterator[dict[str, Any]]:
        """Events, for as long as the daemon runs. Raises UserError when it drops us."""
        headers = {} if since is None else {"Last-Event-ID": str(since)}
        try:
            with self._http.stream("GET", "/v1/watch", headers=headers, timeout=httpx.Timeout(TIMEOUT_S)) as response:
                if response.status_code != 200:
                    response.read()
                    raise _refused(response)
                for line in response.iter_lines():
                    if line == "event: dropped":
                        raise UserError("the daemon closed this watch, because it read too slowly")
                    if line.startswith("data: "):
                        yield json.loads(line.removeprefix("data: "))
        except httpx.RemoteProtocolError:
            return
        except httpx.TransportError as error:
            raise self._nobody(error) from None

    def text(self, path: str) -> str:
        """What is no JSON: the metrics."""
        return self._response("GET", path).text

    def _response(self, method: str, path: str, body: Any = None) -> httpx.Response:
        try:
            response = self._http.request(method, path, json=body)
        except httpx.TransportError as error:
            raise self._nobody(error) from None
        if response.status_code >= 400:
            raise _refused(response)
        return response

    def _nobody(self, error: Exception) -> UserError:
        words = str(error).partition("] ")[2] or str(error)  # httpx hands on "[Errno 2] No such ..."
        return UserError(f"{self._socket}: no daemon: {words}", remedy=_NO_DAEMON)


def _refused(response: httpx.Response) -> UserError:
    try:
        body = response.json()
    except ValueError:
        return UserError(f"response {response.status_code} of the daemon")
    return UserError(body["error"], remedy=body.get("remedy"))
