"""Axio's own rule, on Axio's own tables and on ours."""

import pytest
from axio_samples import DATA
from diagnosed_runs import made

from windtunnel.errors import UserError
from windtunnel.parts.axio.log import stage_rows
from windtunnel.parts.axio.rule import verdicts
from windtunnel.parts.axio.table import tables_of
from windtunnel.runs.record import Imported


def imported(text, side="server"):
    (table,), _ = tables_of(text)
    about = {"tool": "axio", "file": "a.log", "sha256": "0", "at": "2026-01-01T00:00:00Z", "ports": [], "values": []}
    run = made()
    record = run.record.model_copy(
        update={"engines": [], "imported": Imported(**about, stages=stage_rows(side, [table]))}
    )
    return type(run)(run.path, record, {})


def verdict(text, side="server"):
    (found,) = verdicts(imported(text, side))
    return found


SERVER = (DATA / "axio-server.log").read_text()


def test_its_sample_is_c1_in_disp_rx_and_rounding_could_turn_it():
    found = verdict(SERVER)
    assert (found.stage, found.contention) == ("disp_rx", "C1")
    assert found.rounding == "rounding could turn it: 0.013 against 0.014 µs, of values with three digits"
    assert "Here: in-flight, few-mbufs, full-ring, link" in found.ours[0] and "such a stall is no wait" in found.ours[1]


@pytest.mark.parametrize(
    ("said", "instead", "stage", "contention", "rounding"),
    [
        ("0.027 0.014", "0.027 0.018", "disp_rx", "C1", ""),  # no rounding explains it
        ("0.027 0.014", "0.027 0.013", "disp_rx", "C2 or C4", "rounding could turn it"),
        ("0.027 0.014", "0.027 0.012", "disp_rx", "C2 or C4", ""),
        ("20.046 0.021", "20.046 0.027", "disp_rx", "C1", "would be the most critical phase"),
        ("nic_tx 20.046 0.008", "nic_tx 20.046 0.080", "nic_tx", None, ""),
    ],
)
def test_the_longest_phase_and_its_stall_decide(said, instead, stage, contention, rounding):
    found = verdict(SERVER.replace(said, instead))
    assert (found.stage, found.contention) == (stage, contention)
    assert rounding in (found.rounding or "") and (found.rounding is None) == (rounding == "")
    assert ("ends with an error" in found.ours[0]) == (contention is None)


def test_nic_rx_is_left_out():
    assert verdict((DATA / "axio-client.log").read_text(), "client").stage == "app_tx"


def test_of_our_own_runs_it_has_both_sides_and_no_rounding():
    found = verdicts(made(work={("server", "app_rx"): 6.0}))
    assert [each.side for each in found] == ["client", "server"]
    assert (found[1].stage, found[1].contention, found[1].rounding) == ("app_rx", "C2 or C4", None)


def test_without_timed_stages_it_has_nothing_to_compare():
    with pytest.raises(UserError, match="no stage was timed"):
        verdicts(made(windows=0))
