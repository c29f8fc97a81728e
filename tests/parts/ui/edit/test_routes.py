"""What the pages of Edit and start refuse, and what they say to a script."""

import asyncio
import re
from urllib.parse import urlencode

import httpx
import pytest
from command_line import SCENARIO
from comparing import SCENARIO as SCENARIO_OF_RUNS
from comparing import made
from fake_runs import FAKE

from windtunnel.engine import find
from windtunnel.index.index import Index
from windtunnel.parts.ui.app import Context, make
from windtunnel.parts.ui.edit import origin
from windtunnel.parts.ui.edit.scenario_directory import ScenarioDirectory
from windtunnel.parts.ui.edit.start import StartedRuns
from windtunnel.parts.ui.guard import OWN, Allowed
from windtunnel.parts.ui.templates import Pages
from windtunnel.parts.ui.watch import Watch
from windtunnel.scenario import templates

TEXT = "# How fast?\n" + SCENARIO.format(duration="100ms")


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Method, path and fields -> response; `own`: of this user."""
    monkeypatch.setenv(find.VARIABLE, str(FAKE))
    scenarios = tmp_path / "scenarios"
    scenarios.mkdir()
    (scenarios / "mine.toml").write_text(TEXT)
    (scenarios / "study.toml").write_text("[[factor]]\n")
    (tmp_path / "outside.toml").write_text(TEXT)
    index, started = Index(tmp_path / "runs", tmp_path / "cache"), StartedRuns(tmp_path / "runs")
    monkeypatch.setattr(started, "start", lambda file, text: begun.append((file.name, text)))
    begun: list[tuple[str, str]] = []
    app = make(
        Context(Watch(started), Pages(Allowed("unix", "localhost")), index, ScenarioDirectory(scenarios), started)
    )

    def asked(method: str, path: str, /, own: bool = True, **fields: str) -> httpx.Response:
        async def guarded(scope, receive, send):
            await app(scope | {OWN: own}, receive, send)

        async def sent():
            async with httpx.AsyncClient(transport=httpx.ASGITransport(guarded), base_url="http://unit") as client:
                return await client.request(method, path, content=urlencode(fields))

        return asyncio.run(sent())

    asked.begun, asked.index = begun, index
    yield asked
    index.close()


MINE = {"kind": "file", "name": "mine.toml"}


def test_the_lists_have_scenarios_alone(ask):
    page = ask("GET", "/edit").text
    assert "name=mine.toml" in page
    assert "How fast?" in page
    assert "study.toml" not in page
    assert "kind=shipped&amp;name=echo" in page


def test_scenarios_of_the_checkout_are_not_the_users(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(origin, "CHECKOUT", tmp_path / "scenarios")
    monkeypatch.setattr(origin, "is_checkout", lambda: True)
    (tmp_path / "scenarios" / "bench" / "scenarios").mkdir(parents=True)
    (tmp_path / "scenarios" / "bench" / "scenarios" / "filter.toml").write_text(TEXT)
    yours, _, others = ask("GET", "/edit").text.partition('aria-label="Shipped scenarios"')
    assert "name=mine.toml" in yours and "name=bench/" not in yours
    assert "name=bench/scenarios/filter.toml" in others.partition('aria-label="Other scenarios of the checkout"')[2]


def test_scenarios_are_filtered_by_their_wire_without_a_script(ask):
    rows = re.findall(r'<li data-wire="(\w*)"( hidden)?>', ask("GET", "/edit?wire=memif").text)
    assert {wire for wire, hidden in rows if not hidden} == {"memif"}
    assert {"ring", "pcap"} <= {wire for wire, hidden in rows if hidden}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/edit"),
        ("GET", "/edit?kind=file&name=mine.toml"),
        *(("POST", f"/edit/{action}") for action in ("check", "key", "save", "start")),
    ],
)
def test_another_user_sees_and_changes_nothing(ask, tmp_path, method, path):
    said = ask(method, path, own=False, text=TEXT + "\n", new="new.toml", path="seed", value="3", **MINE)
    assert said.status_code == 403
    assert not (tmp_path / "scenarios" / "new.toml").exists()
    assert ask.begun == []


@pytest.mark.parametrize("path", ["/edit/save", "/edit/start", "/edit/check", "/edit/key"])
def test_a_get_changes_nothing(ask, path):
    assert ask("GET", f"{path}?kind=file&name=mine.toml&new=new.toml&text=x").status_code == 405


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("file", "../outside.toml"),
        ("file", "/etc/passwd"),
        ("file", "none.toml"),
        ("run", "x/run.json"),
        ("shipped", "no"),
        ("x", "y"),
    ],
)
def test_what_is_not_there_is_not_found(ask, kind, name):
    assert ask("GET", "/edit?" + urlencode({"kind": kind, "name": name})).status_code == 404
    assert ask("POST", "/edit/save", kind=kind, name=name, text="x", new="new.toml").status_code == 404


def test_a_script_gets_the_check_with_its_line(ask):
    wrong = TEXT.replace("inflight", "infligth")
    found = ask("POST", "/edit/check", text=wrong, form="1", **MINE).json()
    assert found["line"] == 12
    assert "mine.toml:12: unknown key" in found["checked"]
    assert 'value="L-App echo"' in found["form"]


def test_a_text_that_is_no_toml_leaves_the_form(ask):
    found = ask("POST", "/edit/check", text="x = ", form="1", **MINE).json()
    assert "form" not in found
    assert "mine.toml:1" in found["checked"]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"path": "client.inflight", "value": "64"}, "inflight = 64"),
        ({"path": "title", "value": "64"}, 'title = "64"'),
        ({"path": "workload", "action": "add"}, "[[workload]]\nhandler"),
    ],
)
def test_a_field_of_the_form_changes_the_text(ask, fields, line):
    made = ask("POST", "/edit/key", text=TEXT, **fields, **MINE).json()["text"]
    assert line in made
    assert made.startswith("# How fast?")


def test_an_empty_field_takes_the_key_out(ask):
    assert "title" not in ask("POST", "/edit/key", text=TEXT, path="title", value="", **MINE).json()["text"]


def test_a_change_that_cannot_be_made_says_so(ask):
    found = ask("POST", "/edit/key", text="x = ", path="title", value="y", **MINE).json()
    assert "text" not in found
    assert "line 1" in found["checked"]


def test_a_text_is_saved_under_a_new_name_alone(ask, tmp_path):
    changed = TEXT + "# more\n"
    said = ask("POST", "/edit/save", text=changed.replace("\n", "\r\n"), new="new.toml", **MINE)
    assert said.status_code == 303
    assert said.headers["location"] == "/edit?kind=file&name=new.toml"
    assert (tmp_path / "scenarios" / "new.toml").read_text() == changed
    again = ask("POST", "/edit/save", text="other", new="new.toml", **MINE)
    assert again.status_code == 200
    assert "exists already" in again.text
    assert "other" in again.text  # what was typed is there
    assert (tmp_path / "scenarios" / "new.toml").read_text() == changed


@pytest.mark.parametrize("new", ["", "new", "../new.toml", "/tmp/new.toml", "none/new.toml", "mine.toml", "a\0.toml"])
def test_other_names_are_refused(ask, tmp_path, new):
    assert 'role="alert"' in ask("POST", "/edit/save", text="x", new=new, **MINE).text
    assert sorted(path.name for path in (tmp_path / "scenarios").iterdir()) == ["mine.toml", "study.toml"]
    assert (tmp_path / "scenarios" / "mine.toml").read_text() == TEXT


def test_a_text_that_is_too_large_is_refused(ask):
    assert "larger than 64 KiB" in ask("POST", "/edit/save", text="#" * (65 << 10), new="new.toml", **MINE).text


def test_a_shipped_scenario_takes_along_what_it_needs(ask, tmp_path):
    said = ask("POST", "/edit/save", text="# mine", new="replay.toml", kind="shipped", name="pcap-replay")
    assert said.status_code == 303
    assert (tmp_path / "scenarios" / "frames.pcap").exists()


def test_a_file_starts_as_it_is_and_a_change_is_saved_first(ask, tmp_path):
    assert ask("POST", "/edit/start", text=TEXT, new="new.toml", **MINE).headers["location"] == "/"
    assert not (tmp_path / "scenarios" / "new.toml").exists()
    ask("POST", "/edit/start", text=TEXT + "# more\n", new="new.toml", **MINE)
    assert (tmp_path / "scenarios" / "new.toml").exists()
    assert ask.begun == [("mine.toml", TEXT), ("new.toml", TEXT + "# more\n")]


def test_a_shipped_scenario_starts_as_it_is_without_a_copy(ask, tmp_path):
    assert ask("POST", "/edit/start", kind="shipped", name="echo").headers["location"] == "/"
    ask("POST", "/edit/start", kind="shipped", name="echo", text="# mine\n" + TEXT, new="mine-too.toml")
    shipped = templates.available()["echo"].text
    assert ask.begun == [("echo.toml", shipped), ("mine-too.toml", "# mine\n" + TEXT)]
    assert not (tmp_path / "scenarios" / "echo.toml").exists()


def test_what_check_refuses_does_not_start(ask, tmp_path):
    said = ask("POST", "/edit/start", text=TEXT.replace("inflight", "infligth"), new="new.toml", **MINE)
    assert said.status_code == 200
    assert "unknown key" in said.text
    assert ask.begun == []
    assert not (tmp_path / "scenarios" / "new.toml").exists()


def test_what_a_scenario_says_is_escaped(ask, tmp_path):
    hostile = TEXT.replace("L-App echo", "</textarea><script>alert(1)</script>").replace("How fast?", "<img src=x>")
    (tmp_path / "scenarios" / "<b>.toml").write_text(hostile)
    for page in (ask("GET", "/edit").text, ask("GET", "/edit?kind=file&name=%3Cb%3E.toml").text):
        assert "<img" not in page
        assert "<script>" not in page
        assert "</textarea><script" not in page
        assert "<b>.toml" not in page


def test_a_file_of_the_list_is_parsed_once(tmp_path, monkeypatch):
    parsed = []
    parse = origin.toml.parse
    monkeypatch.setattr(origin.toml, "parse", lambda text: (parsed.append(text), parse(text))[1])
    (tmp_path / "a.toml").write_text(f"# {tmp_path}\n[[workload]]\n")
    (tmp_path / "b.toml").write_text(f"# {tmp_path}\n[[factor]]\n")
    for _ in range(2):
        assert [listed.name for listed in origin.files_of(ScenarioDirectory(tmp_path))] == ["a.toml"]
    (tmp_path / "b.toml").write_text(f"# {tmp_path}\n[[workload]]\nhalf = \n")
    assert [listed.name for listed in origin.files_of(ScenarioDirectory(tmp_path))] == ["a.toml", "b.toml"]
    assert len(parsed) == 3


def test_the_scenario_of_a_run_has_a_bound(ask, tmp_path):
    options = {f"key{n}": n for n in range(10_000)}
    made(
        tmp_path / "runs" / "one", scenario=SCENARIO_OF_RUNS | {"workload": [{"handler": "l_app", "options": options}]}
    )
    ask.index.refresh()
    response = ask("GET", "/edit?kind=run&name=one/run.json")
    assert response.status_code == 404 and "its scenario is larger than 64 KiB" in response.text
