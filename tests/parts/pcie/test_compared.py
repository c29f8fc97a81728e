"""Estimated beside measured PCIe traffic over the packet rate: on the page of a sweep, and in the report of a study; from recorded texts."""

import in_process
import pytest
from from_the_world import FILES
from report_plots import plots
from study_tools import HEAD, finished, on_paper, written
from terminal_views import printed

from windtunnel.errors import UserError
from windtunnel.parts.pcie.compared import of_runs
from windtunnel.parts.pcie.measured import FILE
from windtunnel.parts.pcie.run_estimate import ports_of
from windtunnel.results.page.renderer import render
from windtunnel.results.study import study_document
from windtunnel.runs import load

TITLE = "PCIe traffic over the packet rate: estimated and measured"
IOSTAT = """   port             Inbound Read(MB)    Inbound Write(MB)    Outbound Read(MB)   Outbound Write(MB)
0000:17              1,121                  965                    2                   14

       2.000000000 seconds time elapsed
"""
PCM = FILES / "pcm-B.csv"
"""640 MB/s in, 1280 MB/s out of memory."""


def swept(tmp_path, *at) -> str:
    page = tmp_path / "sweep.html"
    words = [word for one in at for word in ("--measured-at", one)]
    result = in_process.run("pcie", "estimate", "--sweep", "--out", page, *words)
    if result.exception:
        raise result.exception
    return page.read_text()


def chart_of(page: str) -> dict:
    return next(p for p in plots(page).values() if any("measured" in t.get("name", "") for t in p["data"]))


def test_a_sweep_has_what_was_measured_at_its_rates(tmp_path):
    (tmp_path / "iostat").write_text(IOSTAT)
    page = swept(tmp_path, f"13M={tmp_path / 'iostat'}", f"5M={PCM}")
    traces = {trace["name"]: trace for trace in chart_of(page)["data"]}
    read, written_ = traces["Inbound Read, measured"], traces["Outbound Write, measured"]
    assert (read["x"], read["y"]) == ([5.0, 13.0], [640.0, 560.5])
    assert (written_["x"], written_["y"], written_["yaxis"]) == ([13.0], [7.0], "y2")
    assert max(traces["Inbound Read, estimated"]["x"]) > 14 and "yaxis" not in read
    assert TITLE in page and "pcm-pcie, perf iostat" in page and "The dots of the first chart were measured." in page


def test_a_sweep_without_counters_says_that_nothing_was_measured(tmp_path):
    page = swept(tmp_path)
    assert TITLE not in page and "Nothing here was measured" in page


def test_the_ratio_is_of_measured_and_estimated_and_bursts_that_are_not_known_have_none(tmp_path):
    (tmp_path / "iostat").write_text(IOSTAT)
    page = swept(tmp_path, f"10M={PCM}", f"12M={tmp_path / 'iostat'}")
    rows = page.partition(TITLE)[2].partition("<tbody>")[2].partition("</tbody>")[0].split("</tr>")
    cells = [[cell.partition(">")[2].partition("<")[0] for cell in row.split("<td")[1:]] for row in rows]
    assert cells[0][:4] == ["10.000", "1,120.00", "640.00", "0.57"]
    assert cells[1][0] == "12.000" and cells[1][-3:] == ["\N{EN DASH}", "7.00", "\N{EN DASH}"]


def test_a_rate_is_there_once(tmp_path):
    with pytest.raises(UserError, match="this rate is there twice"):
        swept(tmp_path, f"5M={PCM}", f"5000k={PCM}")


def a_study(tmp_path):
    with on_paper():
        return finished(written(tmp_path, head=HEAD + "repeats = 1\n"), tmp_path / "out")


def test_a_study_has_the_runs_with_whose_counters_a_text_was_saved(tmp_path):
    study = a_study(tmp_path)
    assert TITLE not in render(study_document(study))
    first, _, third = (study.path / row["directory"] for row in study.rows)
    for run in (first, third):
        (run / FILE).write_bytes(PCM.read_bytes())
    compared = of_runs(study.path / row["directory"] for row in study.rows)
    assert len(compared) == 2 and [one.pps for one in compared] == sorted(one.pps for one in compared)
    estimates = {sum(port.rate.inbound_read for port in ports_of(load(run))) for run in (first, third)}
    assert {one.estimated["inbound_read"] for one in compared} == estimates
    assert all(one.measured == {"inbound_read": 640e6, "inbound_write": 1280e6} for one in compared)
    page = render(study_document(study))
    traces = {trace["name"]: trace for trace in chart_of(page)["data"]}
    assert list(traces) == [f"Inbound {way}, {how}" for way in ("Read", "Write") for how in ("estimated", "measured")]
    assert traces["Inbound Read, measured"]["y"] == [640.0, 640.0]
    assert "their estimate is what it would be on one" in page
    shown = printed(study_document(study, charts=False), 220)
    assert TITLE in shown and "640.00" in shown


def test_counters_that_cannot_be_read_are_refused_with_their_file(tmp_path):
    study = a_study(tmp_path)
    file = study.path / study.rows[0]["directory"] / FILE
    file.write_text("nothing of the kind\n")
    with pytest.raises(UserError, match=FILE):
        study_document(study)
