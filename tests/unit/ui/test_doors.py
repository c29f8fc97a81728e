"""Beyond loopback only with a token and TLS, and a browser sees nothing before it has signed in."""

import shutil
import socket
import ssl
import subprocess
import time

import httpx
import pytest
from command_line import command, environment
from ui_tools import free_port

from windtunnel.errors import UserError
from windtunnel.exchange.address import Address
from windtunnel.ui.doors import door_of

TOKEN = "0123456789abcdef0123456789abcdef"
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate")


@pytest.fixture
def files(tmp_path):
    """Of the token, the certificate and its key."""
    token, certificate, key = (tmp_path / name for name in ("token", "cert.pem", "key.pem"))
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=testbed"]
        + ["-addext", "subjectAltName=IP:127.0.0.2", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    return token, certificate, key


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "127.0.0.2"])
def test_another_address_is_refused_without_the_files(host):
    with pytest.raises(UserError, match="not loopback") as refused:
        door_of(Address(host, 8642))
    assert "--token and --tls-certificate and --tls-key missing" in refused.value.message
    assert "ssh -L" in refused.value.remedy


@needs_openssl
def test_each_file_is_needed(files):
    for missing in range(3):
        given = [None if number == missing else file for number, file in enumerate(files)]
        with pytest.raises(UserError, match="missing"):
            door_of(Address("0.0.0.0", 8642), *given)
    assert door_of(Address("0.0.0.0", 8642), *files).beyond.token == TOKEN


@needs_openssl
def test_loopback_needs_none(files):
    assert door_of(Address("127.0.0.1", 8642)).beyond is None
    with pytest.raises(UserError, match="beyond loopback"):
        door_of(Address("127.0.0.1", 8642), *files)


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
            subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        case "short token":
            token.write_text("x")
        case "open token":
            token.chmod(0o644)
    with pytest.raises(UserError):
        door_of(Address("0.0.0.0", 8642), *files)


@pytest.fixture
def beyond(files, tmp_path):
    """A client of a server on an address that is not loopback's own."""
    token, certificate, key = files
    port = free_port()
    told = command("ui", "--listen", f"127.0.0.2:{port}", "--token", token, "--tls-certificate", certificate)
    variables = environment("run", RUNTIME_DIRECTORY=str(tmp_path))
    with subprocess.Popen(
        [*told, "--tls-key", str(key)], cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            address = server.stdout.readline().strip()
            assert address == f"https://127.0.0.2:{port}/"
            context = ssl.create_default_context(cafile=certificate)
            with httpx.Client(base_url=address, verify=context) as client:
                yield client
        finally:
            server.terminate()
            assert server.wait(60) == 0


def signed_in(client: httpx.Client, token: str) -> httpx.Response:
    origin = str(client.base_url).rstrip("/")
    return client.post("/sign-in", data={"access": token}, headers={"origin": origin})


@needs_openssl
@pytest.mark.slow
@pytest.mark.fake_engine
def test_a_browser_signs_in_and_then_sees_the_pages(beyond):
    for path in ("/", "/runs", "/edit", "/events", "/assets/ui.js", "/report?path=x"):
        assert beyond.get(path).status_code == 401
    assert "Access token" in beyond.get("/").text
    assert beyond.get("/assets/ui.css").status_code == 200
    refused = signed_in(beyond, TOKEN[:-1] + "0")
    assert refused.status_code == 401
    assert "not the token" in refused.text
    assert (
        beyond.post("/sign-in", data={"access": TOKEN}, headers={"origin": "https://evil.example"}).status_code == 403
    )
    done = signed_in(beyond, TOKEN)
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
@pytest.mark.fake_engine
def test_what_is_no_tls_gets_nothing(beyond):
    with socket.create_connection((beyond.base_url.host, beyond.base_url.port)) as plain:
        plain.settimeout(30)
        plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            assert b"200" not in plain.recv(4096)
        except ConnectionResetError:
            pass


@pytest.mark.slow
@pytest.mark.fake_engine
def test_a_reader_of_events_that_reads_nothing_is_cut_off(tmp_path):
    """The lists of a page, again and again, until the kernel's buffers are full."""
    from ui_tools import served

    runs = tmp_path / "runs"
    runs.mkdir()
    with served(tmp_path, port := free_port()), socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", port))
        request = f"GET /assets/uplot.js HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        slow.sendall(request * 100)
        slow.settimeout(60)
        time.sleep(0.1)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                slow.send(request)
            except OSError:  # reset: it was cut off
                return
            time.sleep(0.2)
        raise AssertionError("still connected")
