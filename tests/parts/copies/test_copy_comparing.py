"""Two sides that cannot be compared, because copies are modelled in one of them."""

import in_process
import pytest
from scenario_tools import SHIPPED

pytestmark = pytest.mark.slow


def test_a_model_against_a_core_is_refused_before_it_is_measured(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    file = SHIPPED / "copy-model.toml"
    by_core = ["workload.0.copies.engine=cpu", "workload.0.copies.options={}"]
    refused = in_process.run("compare", file, file, *(word for key in by_core for word in ("--set-b", key))).exception
    assert "copies are modelled only in A" in refused.message
    assert "host copies --as-profile" in refused.remedy and not (tmp_path / "runs").exists()
