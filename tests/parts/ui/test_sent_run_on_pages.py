"""A run that somebody sent, with a plug-in beside it, on the pages: nothing opens that code but a check that was allowed to."""

import asyncio
import json
import os
import shutil
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from sent_runs import marking_runs, rename_oddly

from windtunnel.engine.find import VARIABLE, find_engine
from windtunnel.index.index import Index
from windtunnel.parts.ui.app import Context, make
from windtunnel.parts.ui.edit.scenario_directory import ScenarioDirectory
from windtunnel.parts.ui.edit.start import StartedRuns
from windtunnel.parts.ui.guard import OWN, Allowed
from windtunnel.parts.ui.templates import Pages
from windtunnel.parts.ui.watch import Watch

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler to build a plug-in"),
]


@pytest.fixture
def mark(tmp_path) -> Path:
    return marking_runs(tmp_path)


@pytest.fixture
def ask(mark, monkeypatch):
    """Method, path and fields of a request of this user -> the text of the response."""
    monkeypatch.setenv(VARIABLE, str(find_engine()))
    runs = mark.parent / "runs"
    index, started = Index(runs, mark.parent / "cache"), StartedRuns(runs)
    index.refresh()
    app = make(Context(Watch(started), Pages(Allowed("unix", "localhost")), index, ScenarioDirectory(runs), started))

    async def own(scope, receive, send):
        await app(scope | {OWN: True}, receive, send)

    async def sent(method: str, path: str, fields: dict[str, str]) -> str:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(own), base_url="http://localhost") as client:
            return (await client.request(method, path, content=urlencode(fields))).raise_for_status().text

    yield lambda method, path, **fields: asyncio.run(sent(method, path, fields))
    index.close()


ORIGINS = [{"kind": "run", "name": "a/run.json"}, {"kind": "file", "name": "sent.toml"}]


def test_no_page_opens_it(mark, ask):
    pages = ["/", "/runs", "/history", "/edit", *(f"/edit?{urlencode(origin)}" for origin in ORIGINS)]
    pages += ["/report?path=a%2Frun.json", "/compare?run=a%2Frun.json&run=b%2Frun.json"]
    for page in pages:
        assert ask("GET", page), page
        assert not mark.exists(), page


@pytest.mark.parametrize("origin", ORIGINS, ids=lambda origin: origin["kind"])
def test_a_check_in_the_browser_asks_before_it_opens_it(mark, ask, origin):
    text = (mark.parent / "runs" / "sent.toml").read_text()
    asked = json.loads(ask("POST", "/edit/check", text=text, **origin))["checked"]
    assert "Not checked yet" in asked and "libmarks.so" in asked and "Open and check" in asked
    assert not mark.exists()
    assert "Not checked yet" not in json.loads(ask("POST", "/edit/check", text=text, opens="1", **origin))["checked"]
    assert mark.exists()


@pytest.fixture
def odd(mark):
    rename_oddly(mark)


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("/runs", "/report?path=a%5Cxe9/run.json"),
        ("/history", "/report?path=a%5Cxe9/run.json"),
        ("/history?run=a%5Cxe9/run.json", "/report?path=a%5Cxe9/run.json"),
        ("/report?path=a%5Cxe9/run.json", "echo"),
        ("/compare?run=a%5Cxe9/run.json&run=b%5Cxe9/run.json", r"a\udce9"),
        ("/notes?path=a%5Cxe9/run.json", r"a\xe9/run.json"),
        ("/edit?kind=run&name=a%5Cxe9/run.json", "libmarks.so"),
    ],
)
def test_a_page_about_a_run_whose_name_is_not_utf_8(odd, ask, page, shown):
    assert shown in ask("GET", page)


def test_a_refusal_that_names_it(mark, odd, ask):
    os.mkfifo(mark.parent / "runs" / os.fsdecode(b"a\xe9/\xff"))
    with pytest.raises(httpx.HTTPStatusError) as refused:
        ask("GET", "/report?path=a%5Cxe9/run.json")
    assert refused.value.response.status_code == 404 and refused.value.response.text == "\\udcff: not a file\n"
