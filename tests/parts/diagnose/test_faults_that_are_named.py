"""Faults of `faults/tuned` on the real engine, each by experiment: the kinds that causes were written for are named first.

What is held out is no test: `bench/ground_truth.py --folder` scores it."""

import shutil
import tomllib
from pathlib import Path

import pytest
from plugin_tools import compiled

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.parts.diagnose.conduct import execute_experiment
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.scenario import here, load, resolve

FAULTS = Path(__file__).parent / "faults"
SPLITS = ("tuned", "held-out")
RIGHT = {split: tomllib.loads((FAULTS / split / "right.toml").read_text()) for split in SPLITS}


@pytest.fixture
def folder(tmp_path):
    """The faults, with their handler built beside them."""
    copied = tmp_path / "faults"
    shutil.copytree(FAULTS, copied)
    compiled(copied / "defects.c", copied / "defects.so", "-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror")
    return copied


def test_kinds_are_held_out_whole():
    assert not RIGHT["tuned"].keys() & RIGHT["held-out"].keys() and sum(map(len, RIGHT.values())) >= 20
    for split in SPLITS:
        files = {file.name for file in (FAULTS / split).glob("*.*.toml")}
        assert files == {f"{name}.{side}.toml" for name in RIGHT[split] for side in ("fault", "twin")}


@pytest.mark.slow
def test_every_fault_and_its_twin_is_a_scenario_that_differs_from_the_other(folder):
    for split in SPLITS:
        for name in RIGHT[split]:
            fault, twin = (
                resolve(load(folder / split / f"{name}.{side}.toml", []), here()).resolved for side in ("fault", "twin")
            )
            assert fault != twin, name


@pytest.mark.alone
@pytest.mark.long("diagnoses")
@pytest.mark.parametrize("name", sorted(RIGHT["tuned"]))
def test_a_kind_that_a_cause_was_written_for_is_named_first(folder, tmp_path, name):
    file = folder / "tuned" / f"{name}.fault.toml"
    with Interrupts() as interrupts:
        try:
            run = execute_experiment(file, [], tmp_path / "out", interrupts).kept_run()
        except UserError as refused:
            assert "windows excluded" in str(refused)
            pytest.skip(f"the host took the CPUs: {refused}")
    if run.record.validity.too_few_left:
        pytest.skip(f"the host took the CPUs: {len(run.record.validity.excluded)} windows excluded")
    found = diagnose(run)
    assert found.causes[0].code in RIGHT["tuned"][name], [cause.code for cause in found.causes]
