"""Host states and the level that a run settled on, in terminal and report."""

import pytest
from sample_runs import RUNS, execute
from terminal_views import printed

from windtunnel.results.charts.run import throughput
from windtunnel.results.page.renderer import render
from windtunnel.results.run.document import run_document
from windtunnel.runs.validity import Check, ExcludedWindow, HostState, Settled, Validity

LEVEL = "the response rate stayed on one level: 6.00 M/s ±1.0%"
NEAR, FAR, BUSY = "one-l3", "two-l3s", "one-l3, sibling busy"


def state(name, stage_ns, indexes):
    return HostState(
        name=name,
        words=f"CPUs 0 and 1: {name}",
        windows=len(indexes),
        indexes=indexes,
        line_ns=91,
        responses_per_s={"mixed": 6e6},
        p50_ns={"mixed": 900},
        stage_ns={"server app_rx": stage_ns},
    )


def run_in(tmp_path, *names, settled=True):
    """A run whose first state has all windows but the last one."""
    run = execute(tmp_path / "run", *RUNS["both sides"])
    windows = [w.index for w in run.windows["windtunnel"] if w.phase == "measure"]
    parts = [windows[:-1], windows[-1:]] if len(names) > 1 else [windows]
    run.record.validity = Validity(
        checks=[Check(name="steady", state="good", words=LEVEL)],
        excluded=[ExcludedWindow(engine="windtunnel", window=n, reasons=["x"]) for n in windows[-1:] if len(names) > 1],
        states=[state(name, 20.0 * (n + 1), part) for n, (name, part) in enumerate(zip(names, parts, strict=True))],
        headline=names[0],
        settled=Settled(
            what="responses_per_s",
            settled=settled,
            after_ns=0,
            windows=9,
            mean=6e6,
            half_width=0.01 if settled else None,
        ),
    )
    return run


@pytest.mark.parametrize("settled", [True, False])
def test_the_terminal_shows_the_level_of_a_run_that_settled(tmp_path, settled):
    assert (LEVEL in printed(run_document(run_in(tmp_path, NEAR, settled=settled)))) == settled


def test_what_a_packet_costs_is_shown_by_topology(tmp_path):
    said = printed(run_document(run_in(tmp_path, NEAR, FAR)))
    (head,) = [line for line in said.splitlines() if "work and stall, ns per packet" in line]
    (row,) = [line for line in said.splitlines() if line.split()[:2] == ["server", "app_rx"] and len(line.split()) == 4]
    assert head.split()[-2:] == [NEAR, FAR] and row.split()[-2:] == ["20.0", "40.0"]


def test_a_busy_sibling_alone_needs_no_table_of_stages(tmp_path):
    said = printed(run_document(run_in(tmp_path, NEAR, BUSY)))
    assert f"{NEAR}  (metrics)" in said and BUSY in said and "work and stall" not in said


def test_the_report_names_the_shade_of_another_state_and_has_the_costs_by_state(tmp_path):
    run = run_in(tmp_path, NEAR, FAR)
    drawn = throughput(run)
    (entry,) = [trace for trace in drawn["data"] if trace["name"] == f"not counted: {FAR}"]
    shades = [shape for shape in drawn["layout"]["shapes"] if shape["fillcolor"] == entry["marker"]["color"]]
    assert len(shades) == 1 and shades[0]["label"]["text"] == ""
    page = render(run_document(run))
    assert "work and stall, ns per packet" in page and "<td>20.0</td><td>40.0</td>" in page
