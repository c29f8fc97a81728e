"""No refusal quotes a line of a file that a link, a study or a scenario names elsewhere: who reads a log of CI may have no right to read that file."""

from pathlib import Path

import pytest
from command_line import in_process

SECRET = "hunterSECRET"
LINES = {
    "no TOML": f"PGPASSWORD = {SECRET}\n",
    "another unit": f'[client]\nrate = "{SECRET}"\n[[workload]]\n',
    "an unknown key": f"{SECRET} = 1\n",
    "twice": f"{SECRET} = 1\n{SECRET} = 2\n",
}


@pytest.fixture(params=LINES)
def env(request, tmp_path) -> Path:
    """A file of the owner's beside the working directory."""
    file = tmp_path / "home" / "env.toml"
    file.parent.mkdir()
    file.write_text(LINES[request.param])
    return file


@pytest.fixture(autouse=True)
def checkout(tmp_path, monkeypatch) -> Path:
    """The working directory, which holds what somebody sent."""
    directory = tmp_path / "checkout"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


def refusal(*words: str | Path) -> str:
    done = in_process(*map(str, words), cwd=Path.cwd())
    assert done.returncode == 2, done
    return " ".join((done.stdout + done.stderr).split())


def refused(*words: str | Path) -> str:
    output = refusal(*words)
    assert SECRET not in output
    return output


@pytest.mark.parametrize("command", ["check", "run", "search", "tune", "diagnose"])
def test_of_a_link_to_a_file_elsewhere(env, checkout, command):
    (checkout / "gate.toml").symlink_to(env)
    assert "gate.toml:" in refused(command, "gate.toml")
    (checkout / "gates").symlink_to(env.parent)
    assert "gates/env.toml:" in refused(command, "gates/env.toml")


def test_of_a_scenario_that_a_study_names(env, checkout):
    study = 'scenario = "{}"\n[[factor]]\nkey = "client.inflight"\nvalues = [1, 2]\n'
    for name in (str(env), "../home/env.toml"):
        (checkout / "study.toml").write_text(study.format(name))
        assert f"{env.name}:" in refused("study", "study.toml", "--plan")
    (checkout / "link.toml").symlink_to(env)
    assert "link.toml:" in refused("study", "link.toml", "--plan")


@pytest.mark.parametrize("env", ["no TOML", "another unit"], indirect=True)
def test_who_names_a_file_or_has_it_below_reads_the_line(env, checkout):
    assert SECRET in refusal("check", env)
    (checkout / "own.toml").write_text(env.read_text())
    assert SECRET in refusal("check", "own.toml")
