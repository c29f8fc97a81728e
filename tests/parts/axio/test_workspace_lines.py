"""Lines about workspaces in Axio's log: how busy each is, and by that what limits."""

import json

import pytest
from axio_samples import DATA
from importing import run_of

from windtunnel.parts.axio.workspace_lines import busy
from windtunnel.parts.diagnose.diagnose import diagnose as of_run

SERVER = (DATA / "axio-server.log").read_text()


def lines(workspace, *, app, disp, app_us, disp_us):
    """As Axio prints them; only the RX half does something here, and nic_rx has no packets."""
    zero = "throughput(App0.000, Disp0.000, NIC0.000), latency(0.000, 0.000, 0.000)"
    return (
        f"[Workspace {workspace}] TX Breakdown: {zero}\n"
        f"[Workspace {workspace}] RX Breakdown: throughput(App{app:.3f}, Disp{disp:.3f}, NIC-nan), latency({app_us:.3f}, {disp_us:.3f}, inf)\n"
    )


def test_the_share_is_work_by_rate_and_the_mean_of_the_windows():
    text = lines(3, app=5, disp=5, app_us=0.04, disp_us=0.06) + lines(3, app=1, disp=0, app_us=0.1, disp_us=0)
    text += "other text\n" + lines(0, app=0, disp=0, app_us=0, disp_us=0)
    assert [(v.of, v.name, round(v.value, 6)) for v in busy("server", text)] == [
        ("server", "workspace 0", 0.0),
        ("server", "workspace 3", round((0.5 + 0.1) / 2, 6)),
    ]


def test_sending_counts_as_receiving_does():
    sent = "[Workspace 1] TX Breakdown: throughput(App2.000, Disp4.000, NIC4.000), latency(0.100, 0.050, 0.040)\n"
    text = sent + "[Workspace 1] RX Breakdown: throughput(App0.000, Disp0.000, NIC-nan), latency(0.000, 0.000, inf)\n"
    assert [round(v.value, 6) for v in busy("client", text)] == [2 * 0.1 + 4 * 0.05]


@pytest.mark.parametrize(
    "orders", ["TX RX TX RX", "RX TX RX TX RX", "TX RX TX", "RX TX", "TX TX RX", "RX RX TX RX TX TX"]
)
def test_half_a_window_where_a_log_begins_or_was_cut_is_left_out(orders):
    line = "[Workspace 0] {} Breakdown: throughput(App1.000, Disp1.000, NIC1.000), latency(0.300, 0.200, 0.1)\n"
    assert [value.value for value in busy("server", "".join(map(line.format, orders.split())))] == [1.0]


@pytest.mark.parametrize(
    "text", ["", SERVER, "[Workspace 1] RX Breakdown: x\n", "[Workspace 1] TX Breakdown: throughput(App"]
)
def test_a_log_without_whole_lines_has_none(text):
    assert busy("server", text) == []


def diagnosed(directory, *workspaces):
    return of_run(run_of(directory, "axio", "".join(workspaces) + SERVER))


def test_a_workspace_without_slack_limits(tmp_path):
    quiet, full = lines(0, app=1, disp=1, app_us=0.1, disp_us=0.1), lines(2, app=5, disp=5, app_us=0.09, disp_us=0.096)
    found = diagnosed(tmp_path, quiet, full)
    assert found.limit.kind == "worker"
    assert found.limit.words == "the server's workspace 2 limits: it has the least slack, 7% of the time"
    assert "2 of the server's workers are busy for 20% to 93% of the time" in found.limit.evidence[0]
    assert found.not_measured == ["intervals of slack: the text has no windows of its own"]
    assert found.causes == []


def test_workspaces_that_are_as_busy_limit_together(tmp_path):
    found = diagnosed(tmp_path, *(lines(n, app=5, disp=5, app_us=0.09, disp_us=0.096) for n in (0, 3)))
    assert (
        found.limit.words == "the server's workspace 0 and workspace 3 limit: they have the least slack, 7% of the time"
    )


def test_workspaces_with_slack_do_not(tmp_path):
    found = diagnosed(tmp_path, lines(0, app=2, disp=2, app_us=0.1, disp_us=0.1))
    assert found.limit.kind == "unknown"
    assert (
        "none of the server's workers limits: the server's workspace 0 has the least slack, 60% of the time"
        in found.limit.words
    )


def test_without_the_lines_it_stays_not_known(tmp_path):
    found = diagnosed(tmp_path)
    assert found.limit.words == "what limits is not known: axio prints no idle time, so no worker's slack is known"
    assert found.not_measured == ["slack, and with it what limits: the text has no windows and no idle time"]


def test_the_shares_are_values_of_the_run(tmp_path):
    run = run_of(tmp_path, "axio", lines(1, app=2, disp=2, app_us=0.1, disp_us=0.1) + SERVER)
    [value] = [
        v for v in json.loads((run.path / "run.json").read_text())["imported"]["values"] if "workspace" in v["name"]
    ]
    assert (value["of"], value["unit"], round(value["value"], 6)) == ("server", "of its time busy", 0.4)


def test_of_both_sides_in_one_log_no_share_is_taken(tmp_path):
    """The lines do not name their side."""
    client = (DATA / "axio-client.log").read_text()
    text = "Node type: server\n" + SERVER + "\nNode type: client\n" + client
    run = run_of(tmp_path, "axio", lines(1, app=2, disp=2, app_us=0.1, disp_us=0.1) + text)
    assert not [v for v in run.record.imported.values if "workspace" in v.name]
