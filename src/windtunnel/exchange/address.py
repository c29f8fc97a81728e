"""The address on which a server listens, as options give it. Apart from `metrics_server`: a server without metrics does not import Prometheus."""

import ipaddress
import re
from dataclasses import dataclass

from windtunnel.errors import UserError

NOT_THIS_HOST = "on loopback only an IP address and localhost are the name of this server"
"""Message for a client that used another name."""
_HOST = re.compile(r"(?P<host>[^:\[\]]+|\[[^\[\]]+\])(?::[0-9]{1,5})?", re.ASCII)
_ADDRESS = re.compile(r"(?:(?P<host>[^:\[\]]*|\[[^\[\]]+\]):)?(?P<port>[0-9]{1,5})", re.ASCII)


@dataclass(frozen=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self}/metrics"

    @property
    def is_loopback(self) -> bool:
        return ipaddress.ip_address(self.host).is_loopback


def parse(text: str, option: str = "--metrics") -> Address:
    """ ":9464" and "9464" mean loopback; another address must be named. Raises UserError."""
    match = _ADDRESS.fullmatch(text)
    host = (match["host"] or "127.0.0.1").strip("[]") if match else ""
    host = "127.0.0.1" if host == "localhost" else host
    if not match or not 1 <= int(match["port"]) <= 65535 or not _is_ip(host):
        raise UserError(
            f"{option} {text}: not a port with or without an IP address",
            remedy=f"{option} :9464 listens on loopback, {option} 192.0.2.1:9464 on that address",
        )
    return Address(host, int(match["port"]))


def is_no_name(host: str) -> bool:
    """Whether the header Host of a request has an IP address or localhost. Any other name may have been rebound to loopback, so that a page
    in a browser reads what is served there as its own."""
    match = _HOST.fullmatch(host)
    return match is not None and (match["host"].lower() == "localhost" or _is_ip(match["host"].strip("[]")))


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
