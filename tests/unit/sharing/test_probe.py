"""The probe measures what is here, says what is not, and picks by what it measured."""

import json
from types import SimpleNamespace

import pytest
from sharing_tools import needs_rights
from typer.testing import CliRunner

from windtunnel.cli.app import app
from windtunnel.errors import UserError
from windtunnel.host import cpus
from windtunnel.sharing import changed_threads, journal
from windtunnel.sharing.diagnose import Finding
from windtunnel.sharing.probe import DEFAULT, Measured, best, file_of, pick, wants
from windtunnel.sharing.slicers import SLICERS


@pytest.mark.slow
@needs_rights
def test_every_slicer_is_measured_or_missing_with_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(changed_threads, "directory", lambda: tmp_path)
    done = CliRunner().invoke(app, ["share", "probe", "--seconds", "0.2", "--tenants", "2", "--json"])
    assert done.exit_code == 0, done.exception
    found = json.loads(done.stdout)
    assert [one["name"] for one in found["measured"]] == list(SLICERS)
    for one in found["measured"]:
        if one["missing"] is None:
            assert one["latency_p50_us"] > 0 and 0 < one["throughput"] and 0 <= one["own_share"] <= 1.01
        else:
            assert one["throughput"] is None
    assert best(found["cpu"]) == found["picked"]
    assert [file.name for file in tmp_path.iterdir()] == [file_of(found["cpu"]).name]


def measured(name, p99, throughput, **others):
    return Measured(name, "", latency_p99_us=p99, throughput=throughput, **others)


def test_the_default_is_kept_unless_another_is_clearly_better_and_affordable():
    tick, kicker = measured("tick", 12_000, 1.0), measured("kicker", 400, 0.94)
    assert pick([tick, kicker, measured("rotor", 350, 0.95)]) == "kicker"
    assert pick([tick, kicker, measured("rotor", 200, 0.95)]) == "rotor"
    assert pick([tick, kicker, measured("rotor", 200, 0.80)]) == "kicker"
    assert pick([tick, kicker, measured("kicker-far", 420, 0.97)]) == "kicker-far"
    assert pick([tick, kicker, measured("kicker-far", 500, 0.97)]) == "kicker"
    assert pick([tick, kicker, measured("rotor", 200, 0.95, wants="an isolated core")]) == "kicker"
    assert pick([tick, kicker, Measured("hrtick", "", missing="locked")]) == "kicker"
    assert pick([tick, measured("kicker", 400, 0.5)]) == "kicker"
    assert pick([tick, Measured("kicker", "", missing="no")]) == "tick"
    assert pick([Measured("kicker", "", missing="no")]) == DEFAULT


def test_a_trial_that_a_neighbour_was_in_takes_no_side():
    seen = (Finding("neighbour", "", "", ""),)
    kicker, better = measured("kicker", 4000, 0.5, findings=seen), measured("hrtick", 200, 0.95)
    assert pick([measured("tick", 12_000, 1.0), kicker, better]) == "kicker"
    assert pick([measured("kicker", 400, 0.9), measured("hrtick", 200, 0.95, findings=seen)]) == "kicker"
    assert pick([measured("kicker", 400, 0.9), better]) == "hrtick"


def test_what_a_neighbour_would_stop_is_picked_on_isolated_cores_alone(monkeypatch):
    """A probe sees no neighbours on a quiet core; who stays for days meets them."""
    monkeypatch.setattr(cpus, "read_cpus", lambda: SimpleNamespace(isolated=[3]))
    assert all(wants(name, 3) is None and "isolcpus" in wants(name, 2) for name in ("rotor", "rotor-far"))
    assert wants("kicker", 2) is None


@pytest.mark.parametrize("text", ["", "[]", '{"boot": "another", "probe": {"picked": "rotor"}}', '{"probe": 1}'])
def test_a_kept_probe_that_says_nothing_of_this_boot_is_passed_over(tmp_path, monkeypatch, text):
    monkeypatch.setattr(changed_threads, "directory", lambda: tmp_path)
    file_of(0).write_text(text)
    assert best(0) == DEFAULT
    file_of(0).write_text(json.dumps({"boot": journal.boot(), "probe": {"picked": "rotor"}}))
    assert best(0) == "rotor"


@pytest.mark.parametrize(
    "words",
    [
        ["--slice", "100"],
        ["--slice", "1us"],
        ["--tenants", "0"],
        ["--cpu", "4095"],
        ["--rate", "fast"],
        ["--seconds", "0"],
    ],
)
def test_what_cannot_be_probed_is_refused(tmp_path, monkeypatch, words):
    monkeypatch.setattr(changed_threads, "directory", lambda: tmp_path)
    done = CliRunner().invoke(app, ["share", "probe", *words])
    assert done.exit_code == 2 or isinstance(done.exception, UserError)
