"""The pages History and Runs over what lies below a directory, as the server answers them."""

import asyncio

import duckdb
import httpx
import pytest
from comparing import made

from windtunnel.errors import UserError
from windtunnel.index.index import Index
from windtunnel.parts.ui.app import Context, make
from windtunnel.parts.ui.edit.scenario_directory import ScenarioDirectory
from windtunnel.parts.ui.edit.start import StartedRuns
from windtunnel.parts.ui.guard import Allowed
from windtunnel.parts.ui.templates import Pages
from windtunnel.parts.ui.watch import Watch

LONG = "T" * 65_000


@pytest.fixture
def index(tmp_path):
    for n in range(3):
        made(tmp_path / "runs" / f"{n}", title=f"{n}{LONG}", labels={LONG: LONG})
    index = Index(tmp_path / "runs", tmp_path / "cache")
    index.refresh()
    yield index
    index.close()


@pytest.fixture
def ask(index, tmp_path):
    """Path -> response."""
    started = StartedRuns(tmp_path / "runs")
    app = make(
        Context(Watch(started), Pages(Allowed("unix", "localhost")), index, ScenarioDirectory(tmp_path), started)
    )

    async def response(path: str) -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path)

    return lambda path: asyncio.run(response(path))


@pytest.mark.parametrize("path", ["/runs", "/history"])
def test_long_texts_of_sent_runs_make_no_long_page(ask, path):
    page = ask(path)
    assert page.status_code == 200 and f"{LONG[:298]}…" in page.text
    assert LONG[:301] not in page.text


@pytest.mark.parametrize("method", ["histories", "history_of", "readings"])
def test_a_history_that_takes_too_much_memory_is_said(ask, index, monkeypatch, method):
    def refused(*words):
        raise UserError("this history takes more than the 40MB that it may have", remedy="fewer runs")

    monkeypatch.setattr(index, method, refused)
    page = ask("/history?run=0/run.json")
    assert page.status_code == 200 and "this history takes more than the 40MB that it may have" in page.text


@pytest.mark.parametrize("path", ["/runs", "/history"])
def test_an_index_that_is_too_large_says_so(ask, index, path):
    with pytest.raises(UserError), index._open():
        raise duckdb.FatalException("FATAL Error: failed to pin block of size 256.0 KiB")
    page = ask(path).text
    assert "too large for the index, which stays as it is: begin further below" in page and LONG[:298] in page
