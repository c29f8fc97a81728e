"""Beyond loopback only with a token and TLS, and a browser sees nothing before it has signed in."""

import errno
import re
import select
import socket
import ssl
from urllib.parse import urlsplit

import httpx
import pytest
import tls_files
from live_tools import free_port
from tls_files import TOKEN, needs_openssl
from ui_tools import ENTRANCES, pages_over, served, signed_in

from windtunnel.errors import UserError
from windtunnel.exchange import http_server
from windtunnel.exchange.address import Address
from windtunnel.parts.ui.binding import Binding, address_text, binding_of, listen


@pytest.fixture
def files(tmp_path):
    return tls_files.make(tmp_path)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "127.0.0.2"])
def test_another_address_is_refused_without_the_files(host):
    with pytest.raises(UserError, match="not loopback") as refused:
        binding_of(Address(host, 8642))
    assert "--token and --tls-certificate and --tls-key missing" in refused.value.message
    assert "ssh -L" in refused.value.remedy


@needs_openssl
def test_each_file_is_needed(files):
    for missing in range(3):
        given = [None if number == missing else file for number, file in enumerate(files)]
        with pytest.raises(UserError, match="missing"):
            binding_of(Address("0.0.0.0", 8642), *given)
    assert binding_of(Address("0.0.0.0", 8642), *files).remote.token == TOKEN


@needs_openssl
def test_loopback_needs_none(files):
    assert binding_of(Address("127.0.0.1", 8642)).remote is None
    with pytest.raises(UserError, match="beyond loopback"):
        binding_of(Address("127.0.0.1", 8642), *files)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_nobody_else_can_have_the_other_address_of_loopback(host):
    with listen(Binding(Address(host, 0))) as made:
        ends = {each.getsockname()[0]: each.getsockname()[1] for each in made}
        assert set(ends) == {"127.0.0.1", "::1"} and len(set(ends.values())) == 1
        with pytest.raises(UserError, match="cannot listen there"), listen(Binding(Address("::1", ends["::1"]))):
            pass


def test_without_ipv6_the_one_address_is_listened_at(monkeypatch):
    create = socket.create_server

    def without(address, **how):
        if ":" in address[0]:
            raise OSError(errno.EADDRNOTAVAIL, "not there")
        return create(address, **how)

    monkeypatch.setattr(socket, "create_server", without)
    with listen(Binding(Address("127.0.0.1", 0))) as made:
        assert [each.getsockname()[0] for each in made] == ["127.0.0.1"]


def test_each_start_is_another_origin(tmp_path):
    bindings = [
        Binding(Address("127.0.0.1", 0)),
        Binding(Address("127.0.0.1", 0)),
        Binding(tmp_path / "1"),
        Binding(tmp_path / "2"),
    ]
    origins = set()
    for binding in bindings:
        with listen(binding) as made:
            text = address_text(binding, made)
            assert "\n" not in text  # it is printed as one line
            origins.add(re.search(r"http://(wt-[0-9a-f]{16}\.localhost):", text)[1])
    assert len(origins) == len(bindings)


@needs_openssl
@pytest.mark.parametrize("fault", ["no certificate", "no key file", "another key", "short token", "open token"])
def test_unfit_files_are_refused_in_words(files, tmp_path, fault):
    token, certificate, key = files
    match fault:
        case "no certificate":
            certificate.write_text("x")
        case "no key file":
            key.unlink()
        case "another key":
            (tmp_path / "other").mkdir()
            key.write_text(tls_files.make(tmp_path / "other")[2].read_text())
        case "short token":
            token.write_text("x")
        case "open token":
            token.chmod(0o644)
    with pytest.raises(UserError):
        binding_of(Address("0.0.0.0", 8642), *files)


@pytest.fixture(scope="module")
def beyond(tmp_path_factory):
    """A client of a server on an address that is not loopback's own."""
    directory = tmp_path_factory.mktemp("beyond")
    token, certificate, key = tls_files.make(directory)
    listen = f"127.0.0.2:{free_port('127.0.0.2')}"
    with (
        served(
            directory, "--listen", listen, "--token", token, "--tls-certificate", certificate, "--tls-key", key
        ) as address,
        httpx.Client(base_url=address, verify=ssl.create_default_context(cafile=certificate)) as client,
    ):
        assert address == f"https://{listen}/"
        yield client


def sent(client: httpx.Client, token: str) -> httpx.Response:
    origin = str(client.base_url).rstrip("/")
    return client.post("/sign-in", data={"access": token}, headers={"origin": origin})


@needs_openssl
@pytest.mark.slow
def test_a_browser_signs_in_and_then_sees_the_pages(beyond):
    for path in ("/", "/runs", "/edit", "/events", "/assets/ui.js", "/report?path=x"):
        assert beyond.get(path).status_code == 401
    assert "Access token" in beyond.get("/").text
    assert beyond.get("/assets/ui.css").status_code == 200
    refused = sent(beyond, TOKEN[:-1] + "0")
    assert refused.status_code == 401
    assert "not the token" in refused.text
    assert (
        beyond.post("/sign-in", data={"access": TOKEN}, headers={"origin": "https://evil.example"}).status_code == 403
    )
    done = sent(beyond, TOKEN)
    assert done.status_code == 303
    flags = done.headers["set-cookie"]
    assert all(flag in flags for flag in ("__Host-", "Secure", "HttpOnly", "SameSite=Strict"))
    page = beyond.get("/").text
    assert "Nothing runs" in page
    assert 'href="/edit"' not in page
    assert beyond.get("/edit").status_code == 403  # not this user on this host
    stop = beyond.post("/processes/1/stop", data={"token": "x"}, headers={"origin": str(beyond.base_url).rstrip("/")})
    assert stop.status_code == 403


@needs_openssl
@pytest.mark.slow
def test_what_is_no_tls_gets_nothing(beyond):
    with socket.create_connection((beyond.base_url.host, beyond.base_url.port)) as plain:
        plain.settimeout(30)
        plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            assert b"200" not in plain.recv(4096)
        except ConnectionResetError:
            pass


@pytest.mark.slow
def test_a_reader_that_reads_nothing_is_cut_off(tmp_path, monkeypatch):
    """It asks for more than the buffers of the kernel hold, and waits for longer than the server does."""
    monkeypatch.setattr(http_server, "SLOW_S", 0.1)
    with pages_over(tmp_path) as address, signed_in(ENTRANCES[address]) as browser, socket.socket() as slow:
        ((name, cookie),) = browser.cookies.items()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        place = urlsplit(address)
        slow.connect(("127.0.0.1", place.port))
        head = f"GET /assets/uplot.js HTTP/1.1\r\nHost: {place.netloc}\r\nCookie: {name}={cookie}\r\n\r\n"
        slow.sendall(head.encode() * 5000)  # more than the server reads at once: its end is then seen here
        end = select.poll()
        end.register(slow, 0)
        ((_, events),) = end.poll(60_000)
        assert events & (select.POLLERR | select.POLLHUP)
