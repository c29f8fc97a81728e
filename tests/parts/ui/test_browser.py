"""A page of somebody else in the browser of this user, and a name that was rebound to loopback: nothing comes through to the pages."""

import re

import pytest
from command_line import SCENARIO
from ui_tools import ENTRANCES, pages_over, signed_in

pytestmark = pytest.mark.slow
EVIL = "http://evil.example"
GETS = [
    "/",
    "/runs",
    "/history",
    "/edit?kind=file&name=echo.toml",
    "/report?path=x",
    "/compare?run=x",
    "/notes?path=x",
    "/events",
]
POSTS = ["/edit/check", "/edit/key", "/edit/save", "/edit/start", "/notes", "/processes/1/stop", "/processes/1/weight"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """The directory of a server, its address, and a client that has signed in."""
    directory = tmp_path_factory.mktemp("ui")
    (directory / "runs").mkdir()
    (directory / "echo.toml").write_text(SCENARIO.format(duration="1s"))
    with pages_over(directory) as address, signed_in(ENTRANCES[address]) as client:
        yield directory, address.rstrip("/"), client


@pytest.mark.parametrize(
    ("method", "paths", "changes", "status"),
    [
        pytest.param("GET", ["/"], {}, 200, id="a page of ours"),
        pytest.param("POST", ["/edit/check"], {}, 200, id="a form of ours"),
        pytest.param("GET", GETS, {"cookie": ""}, 401, id="an image, a link or a fetch from another page"),
        pytest.param("GET", GETS, {"host": "evil.example"}, 403, id="a name that was rebound"),
        pytest.param("GET", GETS, {"host": "HOST.evil.example"}, 403, id="a name that begins like ours"),
        pytest.param("POST", POSTS, {"cookie": "", "origin": EVIL}, 403, id="a form of another page"),
        pytest.param("POST", POSTS, {"origin": EVIL}, 403, id="the same with the cookie"),
        pytest.param("POST", POSTS, {"origin": "null"}, 403, id="a sandboxed frame"),
        pytest.param("POST", POSTS, {"origin": None}, 403, id="a form without an origin"),
        pytest.param("POST", POSTS, {"cookie": ""}, 401, id="our origin without the cookie"),
        pytest.param("POST", POSTS, {"token": ""}, 403, id="a form without its token"),
        pytest.param("POST", POSTS, {"token": "token=x&"}, 403, id="a token that was guessed"),
        pytest.param("POST", POSTS, {"host": "evil.example", "origin": EVIL}, 403, id="a rebound page's own form"),
        *(pytest.param(m, GETS + POSTS, {}, 403, id=m) for m in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE")),
    ],
)
def test_nothing_of_another_page_comes_through(browser, method, paths, changes, status):
    directory, address, client = browser
    token = re.search(r'name="?token"?[^>]*value="([^"]+)"', client.get(GETS[3]).text)[1]
    ours = {"host": address.partition("//")[2], "origin": address} | changes
    ours["host"] = ours["host"].replace("HOST", address.partition("//")[2])
    body = ours.pop("token", f"token={token}&") + "kind=file&name=echo.toml&text=x&path=echo.toml"
    headers = {name: value for name, value in ours.items() if value is not None}
    before = sorted(directory.rglob("*"))
    for path in paths:
        response = client.request(method, path, headers=headers, content=body, follow_redirects=False)
        assert response.status_code == status, (path, response.text)
    assert sorted(directory.rglob("*")) == before
    assert (directory / "echo.toml").read_text() == SCENARIO.format(duration="1s")
