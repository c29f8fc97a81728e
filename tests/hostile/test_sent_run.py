"""A directory that somebody sent: a run with a scenario that names a plug-in beside it, whose code nothing opens that only reads; a run or an
export with links, which lead nowhere. The plug-in writes a file as soon as it is opened."""

import asyncio
import io
import json
import re
import shutil
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from command_line import SCENARIO, in_process
from comparing import made
from plugin_tools import ROOT, handler
from rich.table import Table
from rich.text import Text

from windtunnel.engine.find import VARIABLE, find_engine
from windtunnel.errors import UserError
from windtunnel.exchange.tables import export, restore
from windtunnel.index.index import Index
from windtunnel.runs import load
from windtunnel.ui.app import Shown, make
from windtunnel.ui.edit.below import Below
from windtunnel.ui.edit.start import Started
from windtunnel.ui.guard import OWN, Allowed
from windtunnel.ui.templates import Pages
from windtunnel.ui.watch import Watch
from windtunnel.views.terminal.harmless import HarmlessConsole

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler to build a plug-in")
SOURCE = ROOT / "src" / "windtunnel"


@pytest.fixture
def mark(tmp_path) -> Path:
    """What the plug-in writes. Beside it: a directory of runs, two of which name it, and a scenario that does."""
    (tmp_path / "runs").mkdir()
    library = handler(tmp_path / "runs" / "libmarks.so", loaded=f'fclose(fopen("{tmp_path / "opened"}", "w"));')
    scenario = {"title": "sent", "workload": [{"handler": str(library)}]}
    for number, name in enumerate(("a", "b")):
        made(tmp_path / "runs" / name, 6.0, 10 * number, scenario=scenario)
    (tmp_path / "runs" / "sent.toml").write_text(SCENARIO.format(duration="1s").replace('"l_app"', '"./libmarks.so"'))
    return tmp_path / "opened"


def said(mark: Path, *words: str) -> str:
    done = in_process(*words, cwd=mark.parent / "runs", **{VARIABLE: str(find_engine())})
    return done.stdout + done.stderr


READS = ["show a", "show a --json", "compare a b --force", "history .", "export a tables"]


@pytest.mark.parametrize("words", READS)
def test_a_command_that_reads_opens_no_plug_in(mark, words):
    assert "Traceback" not in said(mark, *words.split())
    assert not mark.exists()


def test_check_opens_it(mark):
    assert "valid" in said(mark, "check", "sent.toml")
    assert mark.exists()


@pytest.fixture
def ask(mark, monkeypatch):
    """Method, path and fields of a request of this user -> the text of the response."""
    monkeypatch.setenv(VARIABLE, str(find_engine()))
    runs = mark.parent / "runs"
    index, started = Index(runs, mark.parent / "cache"), Started(runs)
    index.refresh()
    app = make(Shown(Watch(started), Pages(Allowed("unix", "localhost")), index, Below(runs), started))

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


EVIL = "a\x1b]0;owned\x07b\x1b[2Jc\x9b31m"
"""It would name the terminal's window, clear it and colour what follows."""


@pytest.fixture
def evil(tmp_path) -> Path:
    """A directory of runs, one of them invalid, whose every word would steer the terminal."""
    words = {"title": EVIL, "question": EVIL, "host": {"hostname": EVIL}, "labels": {"x": EVIL}}
    scenario = {"title": EVIL, "workload": [{"handler": EVIL}]}
    versions = {"engine": EVIL, "dpdk": EVIL}
    for name, invalid in (("a", None), ("b", None), ("c", f"engine died: {EVIL}")):
        made(tmp_path / name, scenario=scenario, versions=versions, invalid=invalid, **words)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    ["show a", "show c", "show a --format markdown", "compare a b --force", "compare a b --force -q", "history ."]
    + ["history . -q", "compare a c", "export c tables --include-invalid"],
)
def test_no_word_of_a_run_steers_the_terminal(evil, words):
    done = in_process(*words.split(), cwd=evil)
    shown = done.stdout + done.stderr
    assert shown and not {c for c in shown if not c.isprintable()} - {"\n"}, shown
    assert "\\x1b]0;owned" in shown or "owned" not in shown


def test_a_terminal_gets_the_styles_of_ours_and_the_words_of_others(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    console = HarmlessConsole(force_terminal=True, file=io.StringIO(), width=80)
    table = Table("column")
    table.add_row(Text(EVIL, "bold"))
    console.print(table, f"[red]{EVIL}[/]", Text(EVIL))
    written = console.file.getvalue()
    assert "\x1b[1m" in written and "\x1b[31m" in written
    assert written.count("\\x1b]0;owned") == 2 and "a\\x1b]0;" in written.split("\n")[3]  # a cell keeps its width
    assert not re.search("\x1b\\]|\x1b\\[2J|\x07|\x9b", written)


def test_all_that_is_printed_by_rich_goes_through_one_console():
    """In a program of its own Console would print what a file says as it is."""
    sources = {path.relative_to(SOURCE): path.read_text() for path in SOURCE.rglob("*.py")}
    made_here = {
        str(path) for path, text in sources.items() if re.search(r"(?<!Harmless)(?<!Markdown)\bConsole\(", text)
    }
    assert made_here == set()


def test_an_export_follows_no_link_out_of_the_run(tmp_path):
    (tmp_path / "secret").write_text("secret")
    run = made(tmp_path / "run")
    (run / "engine.log").symlink_to(tmp_path / "secret")
    with pytest.raises(UserError, match="a link, which is not copied"):
        export(load(run), tmp_path / "tables", "csv")
    assert not (tmp_path / "tables").exists()


@pytest.mark.parametrize("link", ["files", "files/engine.log", "run.json"])
def test_an_import_follows_no_link_out_of_the_export(tmp_path, link):
    run = made(tmp_path / "run")
    (run / "engine.log").write_text("a log")
    exported = export(load(run), tmp_path / "tables", "csv")
    (exported / link).rename(tmp_path / "elsewhere")
    (exported / link).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="a link, which is not"):
        restore(exported, tmp_path / "again")
    assert not (tmp_path / "again").exists()
