"""`--as axio` of diagnoses, and what report.rpt is evidence for."""

import json

import pytest
from axio_samples import DATA
from command_line import in_process
from diagnosed_runs import made

diagnose = pytest.importorskip("windtunnel.parts.diagnose.diagnose").diagnose
recorded = pytest.importorskip("windtunnel.parts.diagnose.recorded")
REPORT = (
    "----begin all measurement----\nIO Write Miss Rate: 0.89\nLLC-load-misses-rate: 0.11\nLLC-store-misses-rate: 0.1\n"
)


def diagnosed(tmp_path, text):
    (file := tmp_path / "report.rpt").write_text(text)
    return diagnose(made(), recorded=recorded.read_evidence([file]))


def test_the_rule_is_quoted_with_ours_beside_it(tmp_path):
    assert in_process("import", "axio", DATA / "axio-server.log", "--out", "r", cwd=tmp_path).returncode == 0
    done = in_process("diagnose", "r", "--as", "axio", cwd=tmp_path)
    _, _, _, first, second, *_ = done.stdout.splitlines()
    assert done.returncode == 0 and "disp_rx" in first and first.endswith("C1")
    assert "rounding could turn it" in second
    both = json.loads(in_process("diagnose", "r", "--as", "axio", "--json", cwd=tmp_path).stdout)
    assert both["axio"][0]["contention"] == "C1" and both["limit"]["kind"] == "unknown"


def test_without_the_option_the_rule_is_not_asked():
    assert diagnose(made()).axio is None and [each.side for each in diagnose(made(), "axio").axio] == [
        "client",
        "server",
    ]


@pytest.mark.parametrize(
    ("code", "words"), [("shared-cache", "11% of loads and 10% of stores"), ("nic-writes", "89% of the lines")]
)
def test_the_numbers_of_a_report_are_the_evidence(tmp_path, code, words):
    (cause,) = (cause for cause in diagnosed(tmp_path, REPORT).causes if cause.code == code)
    assert cause.evidence.startswith(words)


def test_a_value_that_a_report_lacks_is_said(tmp_path):
    text = "----begin all measurement----\nSocket 0\nIO Write Miss Rate: 0\nSocket 1\nIO Write Miss Rate: -nan\n"
    line = "nic-writes: Socket 1 IO Write Miss Rate: the report has no number"
    assert line in diagnosed(tmp_path, text).not_measured
