"""windtunnel init: every template becomes a commented file that means the same and passes check."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from command_line import windtunnel
from scenario_tools import SHIPPED, skip_without_pipelines

from windtunnel.errors import UserError
from windtunnel.scenario import here, load, resolve
from windtunnel.scenario.commented import commented
from windtunnel.scenario.templates import available, write

TEMPLATES = available()
NEEDS_NOTHING = ("ring", "null", "memif", "pcap")


def test_templates_are_the_self_contained_scenarios():
    assert {"echo", "open-loop", "pcap-replay", "two-processes"} <= set(TEMPLATES)
    assert {"plugin", "kernel-ping"} & set(TEMPLATES) == set()
    assert all((SHIPPED / f"{name}.toml").read_text() == template.text for name, template in TEMPLATES.items())


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_keeps_its_values_and_passes_check(name, tmp_path):
    [file, *beside] = write(TEMPLATES[name], tmp_path / "mine.toml")
    assert tomllib.loads(file.read_text()) == tomllib.loads(TEMPLATES[name].text)
    assert file.read_text().startswith(f"# {TEMPLATES[name].question}\n")
    assert {path.name for path in beside} == set(TEMPLATES[name].files)
    scenario = load(file)
    if scenario.wire.kind in NEEDS_NOTHING:
        skip_without_pipelines(name)
        assert resolve(scenario, here()).question == TEMPLATES[name].question


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


def test_a_missing_directory_is_refused(tmp_path):
    with pytest.raises(UserError, match="No such file or directory") as refused:
        write(TEMPLATES["echo"], tmp_path / "no" / "where.toml")
    assert refused.value.remedy == "create its directory first"


def test_init_on_the_command_line(tmp_path):
    listed = windtunnel("init", cwd=tmp_path)
    assert "echo " in listed.stdout and "What does one small RPC cost, stage by stage?" in listed.stdout
    made = windtunnel("init", "echo", cwd=tmp_path)
    assert made.stdout == "written: echo.toml\nnext:    windtunnel check echo.toml\n"
    unknown = windtunnel("init", "ehco", cwd=tmp_path)
    assert unknown.stderr == 'error: no template ehco\nremedy: did you mean "echo"?\n'


def test_a_wheel_contains_the_templates(tmp_path):
    """Built as pip would, in a copy, without asking any registry."""
    pytest.importorskip("setuptools", minversion="70.1", reason="this setuptools builds no wheels")
    root, copy = SHIPPED.parent, tmp_path / "windtunnel"
    shutil.copytree(
        root / "src", copy / "src", symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    shutil.copytree(SHIPPED, copy / "scenarios")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(root / name, copy / name)
    build = "from setuptools.build_meta import build_wheel; print(build_wheel('out'))"
    (copy / "out").mkdir()
    subprocess.run([sys.executable, "-c", build], cwd=copy, check=True, capture_output=True, timeout=120)
    [wheel] = (copy / "out").glob("*.whl")
    packed = {Path(name).name for name in zipfile.ZipFile(wheel).namelist() if "/templates/" in name}
    assert packed >= {path.name for path in SHIPPED.iterdir()}
