"""windtunnel init: every template becomes a commented file that means the same, beside the files that it needs."""

import os
import re
import tomllib

import pytest
from scenario_tools import SHIPPED
from study_tools import invoke, refused

from windtunnel.errors import UserError
from windtunnel.scenario import load
from windtunnel.scenario.commented import commented
from windtunnel.scenario.templates import available, write

TEMPLATES = available()


def test_templates_are_the_self_contained_scenarios():
    assert {"echo", "open-loop", "pcap-replay", "two-processes"} <= set(TEMPLATES)
    assert {"plugin", "kernel-ping"} & set(TEMPLATES) == set()
    assert all((SHIPPED / f"{name}.toml").read_text() == template.text for name, template in TEMPLATES.items())


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_keeps_its_values_and_brings_its_files(name, tmp_path):
    [file, *beside] = write(TEMPLATES[name], tmp_path / "mine.toml")
    assert tomllib.loads(file.read_text()) == tomllib.loads(TEMPLATES[name].text)
    assert file.read_text().startswith(f"# {TEMPLATES[name].question}\n")
    assert {path.name: path.read_bytes() for path in beside} == TEMPLATES[name].files
    assert load(file).question == TEMPLATES[name].question


def test_every_key_is_explained_and_the_rest_are_commented():
    text = commented(
        '# Why?\n\n[wire]\nkind = "null"  # mine\ncopy = true\n\n# the traffic\n[[workload]]\nhandler = "echo#1"\n'
    )
    lines = text.splitlines()
    assert lines[0] == "# Why?" and 'kind = "null"  # mine' in lines and 'handler = "echo#1"' in lines
    [copied] = [line for line in lines if line.startswith("copy = true")]
    assert copied.endswith("# null: copy every frame's bytes, as a NIC's DMA would")
    [seed] = [line for line in lines if line.startswith("# seed = 1 ")]
    assert seed.endswith("# seed of all random numbers") and lines.index(seed) < lines.index("[wire]")
    assert not any(line.startswith(("# [wire]", "# [[workload]]", "# kind", "# handler =")) for line in lines)
    # what is no comment any more belongs to the table that it stands below
    faults = next(n for n, line in enumerate(lines) if line.startswith("# [wire.faults]"))
    assert faults > next(n for n, line in enumerate(lines) if line.startswith("# packet ="))
    assert lines.index("# the traffic") > faults
    assert not any(line.startswith(("# replay", "# socket")) for line in lines), "options of other wires"


def test_commented_keys_can_be_uncommented(tmp_path):
    """Every key that is offered with a default is right as it stands."""
    text = commented(TEMPLATES["echo"].text)
    offered = [line for line in text.splitlines() if re.match(r"# \w+ = \S", line)]
    assert len(offered) > 20
    for line in offered:
        file = tmp_path / "taken.toml"
        file.write_text(text.replace(line, line[2:]))
        load(file)


def test_existing_files_stay(tmp_path):
    (tmp_path / "frames.pcap").write_bytes(b"precious")
    with pytest.raises(UserError, match="frames.pcap: exists already"):
        write(TEMPLATES["pcap-replay"], tmp_path / "mine.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["frames.pcap"]
    (tmp_path / "frames.pcap").write_bytes(TEMPLATES["pcap-replay"].files["frames.pcap"])
    assert write(TEMPLATES["pcap-replay"], tmp_path / "mine.toml") == [tmp_path / "mine.toml"]
    with pytest.raises(UserError, match="mine.toml: exists already"):
        write(TEMPLATES["pcap-replay"], tmp_path / "mine.toml")


def test_a_fifo_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "frames.pcap")
    with pytest.raises(UserError, match="frames.pcap: exists already"):
        write(TEMPLATES["pcap-replay"], tmp_path / "mine.toml")


def test_a_missing_directory_is_refused(tmp_path):
    with pytest.raises(UserError, match="No such file or directory") as refused:
        write(TEMPLATES["echo"], tmp_path / "no" / "where.toml")
    assert refused.value.remedy == "create its directory first"


def test_init_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    listed = invoke("init")
    assert "echo " in listed and "What does one small RPC cost, stage by stage?" in listed
    assert invoke("init", "echo") == "written: echo.toml\nnext:    windtunnel check echo.toml\n"
    unknown = refused("init", "ehco")
    assert (unknown.message, unknown.remedy) == ("no template ehco", 'did you mean "echo"?')
