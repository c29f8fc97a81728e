"""What scenarios, records, the index and the terminal do with what estimates add to them."""

import json
import shutil

import pytest
import sample_lines as sample
import sample_runs
from forged_lines import forge, said
from net import unpack
from scenario_tools import ECHO, loaded

from windtunnel.errors import UserError
from windtunnel.exchange.source import MOST_LINE
from windtunnel.parts.pcie.measured import read_measured
from windtunnel.runs import load


def test_a_scenario_names_a_shipped_nic(tmp_path):
    with pytest.raises(UserError, match='nic_profile is "ixgb"'):
        loaded(tmp_path, ECHO | {"server": {"nic_profile": "ixgb"}})


def test_a_record_with_a_nic_that_is_no_text_is_refused(tmp_path):
    file = sample_runs.execute(tmp_path / "run", [sample.plan()], ["windtunnel"]).path / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"scenario": {"client": {"nic_profile": 3}}}))
    with pytest.raises(UserError, match="scenario: .*nic_profile is no text"):
        load(tmp_path / "run")


def test_a_line_of_counters_that_is_too_long_is_refused(tmp_path):
    head = "Skt,PCIe Rd (B),PCIe Wr (B)" + ",ItoM" * MOST_LINE
    (tmp_path / "pcm.csv").write_text(f"{head}\n0,1,1{',1' * MOST_LINE}\n")
    with pytest.raises(UserError, match="longer than 65,536 characters"):
        read_measured(tmp_path / "pcm.csv")


@pytest.mark.slow
def test_no_text_of_a_run_begins_a_line(tmp_path):
    shutil.copytree(unpack(tmp_path / "sent") / "runs/echo", tmp_path / "a")
    forge(tmp_path / "a" / "run.json", lambda file: load(file.parent).require_usable(True))
    said("pcie", "estimate", "a", cwd=tmp_path)
