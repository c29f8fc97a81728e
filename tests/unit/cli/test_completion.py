"""What TAB offers, asked as the shells ask: by environment variables."""

from pathlib import Path

import pytest
from command_line import SCENARIO, in_process

from windtunnel.cli import completion
from windtunnel.engine import find
from windtunnel.errors import UserError
from windtunnel.part_registry import part_modules

STUDY = '# How far?\nscenario = "mine.toml"\n[[factor]]\nkey = "client.inflight"\nvalues = [1]\n'


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("place")
    (directory / "mine.toml").write_text(SCENARIO.format(duration="1s"))
    (directory / "far.toml").write_text(STUDY)
    (directory / "notes.txt").write_text("")
    (directory / "below").mkdir()
    for name in ("one", "two"):
        (directory / "runs" / name).mkdir(parents=True)
        (directory / "runs" / name / "run.json").write_text("{}")
    (directory / "runs" / "sizes").mkdir()
    (directory / "runs" / "sizes" / "study.json").write_text("{}")
    return directory


def offered(place: Path, *words: str) -> list[str]:
    """What bash would offer for the last of these words."""
    asked = {"COMP_WORDS": " ".join(["windtunnel", *words]), "COMP_CWORD": str(len(words))}
    done = in_process(cwd=place, _WINDTUNNEL_COMPLETE="complete_bash", **asked)
    assert done.stderr == ""
    return list(filter(None, done.stdout.splitlines()))


def test_commands(place):
    assert {"run", "show", "study", "share", "host", "import"} <= set(offered(place, ""))
    assert offered(place, "cal") == ["calibrate"]
    of_parts = {command.__name__ for part in part_modules("commands") for command in getattr(part, "HOST", ())}
    assert set(offered(place, "host", "")) == {"doctor", "ladder", "state"} | of_parts
    assert "reproduce" in offered(place, "share", "rep")


def test_scenarios_are_files_and_shipped_names(place):
    assert offered(place, "run", "mi") == ["mine.toml"]
    assert "echo" in offered(place, "run", "ec")
    assert "far.toml" not in offered(place, "check", "")
    assert "below/" in offered(place, "run", "")
    assert offered(place, "init", "open") == ["open-loop"]


def test_studies_and_the_command_below(place):
    found = offered(place, "study", "")
    assert "far.toml" in found and "mine.toml" not in found and "query" in found and "runs/sizes" in found
    assert offered(place, "study", "query", "--study", "runs/s") == ["runs/sizes"]


def test_keys_of_set(place):
    assert offered(place, "run", "mine.toml", "--set", "server.ba") == [
        f"server.batch.{stage}=" for stage in ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx")
    ]
    assert "workload.1.request=" in offered(place, "run", "mine.toml", "--set", "workload.1.req")
    assert "workload.0.handler=" in offered(place, "compare", "a", "b", "--set-a", "workload.")
    assert offered(place, "run", "mine.toml", "--set", "no.such") == []


def test_choices_of_a_key():
    assert dict(completion.sets("server.response_mbuf=")).keys() == {
        "server.response_mbuf=request",
        "server.response_mbuf=new",
    }
    assert completion.sets("server.nonsense=") == completion.sets("a.b.c.d.e.f.g.h.i.j") == []


def test_run_directories(place):
    assert set(offered(place, "show", "")) >= {"runs/one", "runs/two"}
    assert offered(place, "show", "runs/o") == ["runs/one"]
    assert offered(place, "export", "runs/t") == ["runs/two"]


def test_handlers(place):
    assert set(offered(place, "handlers", "l")) == {"l_app", "l2fwd"}


def test_unknown_words_get_no_completion_and_no_traceback(monkeypatch):
    monkeypatch.setenv(find.VARIABLE, "/nowhere")
    assert completion.handlers("") == []
    assert completion.runs("/nowhere/at/all") == completion.scenarios("\0") == []


EVIL = [
    "a$(touch ran)",
    "a\\$(touch ran)",
    "a`touch ran`",
    "a;touch ran",
    "a'b",
    'a"b',
    "a*",
    "a&b",
    "a\nb",
    "~a",
    "=a",
    "--html",
]


@pytest.fixture
def sent(tmp_path) -> Path:
    """A directory with such names: files and directories of each kind. Its harmless ones have comments that are not."""
    comment = r"# \$(touch ran) `touch ran` \` \' \" why?" + "\n"
    for name in ["good", *EVIL]:
        for record in ("run.json", "study.json"):
            (tmp_path / f"{name}.{record[:3]}").mkdir()
            (tmp_path / f"{name}.{record[:3]}" / record).write_text("{}")
        (tmp_path / f"{name}.toml").write_text(comment + SCENARIO.format(duration="1s"))
        (tmp_path / f"{name}.far.toml").write_text(comment + STUDY)
    (tmp_path / "latin.toml").write_bytes(b"# \xe9\n")
    return tmp_path


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("words", "offers"),
    [
        ("run ", "good.toml"),
        ("study ", "good.far.toml"),
        ("show ", "good.run"),
        ("study query --study ", "good.stu"),
        ("compare ", "good.run"),
    ],
)
def test_no_offer_has_what_a_shell_would_run(sent, shell, words, offers):
    asked = {"COMP_WORDS": f"windtunnel {words}", "COMP_CWORD": str(len(words.split()) + 1)}
    asked |= {"_TYPER_COMPLETE_ARGS": f"windtunnel {words}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = in_process(cwd=sent, _WINDTUNNEL_COMPLETE=f"complete_{shell}", **asked)
    shown = done.stdout.replace(r"\\:", "").removeprefix("_arguments '*: :((").removesuffix("))'\n")
    assert offers in shown
    assert not set(shown) & set("\\$`'*&;~"), shown
    assert not [line for line in shown.splitlines() if line.strip('"')[0] in "=-"]


def test_help_has_the_words_of_a_comment(sent, monkeypatch):
    monkeypatch.chdir(sent)
    assert dict(completion.scenarios("go"))["good.toml"] == "(touch ran) touch ran    why?"


def test_every_key_and_choice_is_offered():
    """What is offered has harmless characters alone: the program's own has no others."""
    from windtunnel.scenario.keys import Scenario

    keys = [key for key, _ in completion._keys(Scenario, [], "")]
    assert len(keys) > 20 and [key for key, _ in completion.sets("")] == keys
    assert {"echo", "open-loop"} <= dict(completion.templates("")).keys()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_script(place, shell):
    done = in_process(cwd=place, _WINDTUNNEL_COMPLETE=f"source_{shell}")
    assert "_WINDTUNNEL_COMPLETE" in done.stdout, done.stderr


def test_no_start_up_file_is_changed_in_a_home_that_others_may_write(tmp_path, monkeypatch):
    """Root may have the HOME of another user, since sudo may keep it, and a link there leads to a file of root's."""
    home, victim = tmp_path / "home", tmp_path / "victim"
    home.mkdir()
    victim.write_text("")
    (home / ".bashrc").symlink_to(victim)
    monkeypatch.setenv("HOME", str(home))
    home.chmod(0o777)
    refused = in_process("--install-completion", cwd=tmp_path)
    assert refused.returncode == 2 and f"{home}: it is not there, or other users may put links there" in refused.stderr
    assert victim.read_text() == "" and [path.name for path in home.iterdir()] == [".bashrc"]
    home.chmod(0o755)
    completion.check_home()
    home.rename(tmp_path / "taken away")  # by whoever may put it back a moment later
    with pytest.raises(UserError):
        completion.check_home()
