"""Marks in the plots of studies of tables: the size that fills the L3, L(1), and the line rate, each with its name and its source."""

from dataclasses import replace

import fake_numbers
import pytest
from report_plots import plots
from study_tools import finished, on_paper, written

from windtunnel.errors import UserError
from windtunnel.measure.study.study import Study, prepare
from windtunnel.parts.tables.lookup_memory import lookup_bytes
from windtunnel.parts.tables.marks import filling
from windtunnel.results.charts.marks import line_rate_mpps, marks_of
from windtunnel.results.page.renderer import render
from windtunnel.results.study import study_document

MIB = 1 << 20
SCENARIO = """# What does a lookup cost?
duration = "60ms"
warmup = "20ms"
window = "20ms"
[[workload]]
packet_handler = "match_action"
[[workload.table]]
name = "flows"
entries = 10
"""
HEAD = """# How does it grow?
scenario = "echo.toml"
repeats = 1
retries = 0
metrics = ["server_rx_mpps", "p50"]
"""
ENTRIES = '[[factor]]\nkey = "workload.0.table.0.entries"\nvalues = [1, 1000, 100000, 1000000]\n'
METHOD = '[[factor]]\nkey = "workload.0.table.0.lookup"\nvalues = ["single", "bulk"]\n'
BYTES = 96
"""Bytes of an entry by the counter of the tests' handler."""


@pytest.fixture(autouse=True)
def counted(monkeypatch):
    """The fake engine's handler counts the memory of its table."""
    window = fake_numbers.window

    def with_memory(plan, sides, index, phase):
        told = window(plan, sides, index, phase)
        (table,) = plan["workloads"][0]["pipeline"]["tables"]
        each = BYTES * (2 if table["lookup"] == "bulk" and plan["title"] == "doubled" else 1)
        place = {"endpoint": "server", "stage": "disp_rx", "index": 0, "of": "flows"}
        value = each * (table["rules"] or 1)
        told["counters"].append(place | {"name": "memory", "unit": "bytes", "kind": "level", "value": value})
        return told

    monkeypatch.setattr(fake_numbers, "window", with_memory)


def a_study(tmp_path, l3: int | None, factors: str = ENTRIES, head: str = HEAD, scenario: str = SCENARIO) -> Study:
    """A finished study on a host with an L3 of this size."""
    with on_paper():
        study = finished(written(tmp_path, factors, head, scenario), tmp_path / "out")
    caches = [{"level": 2, "bytes": MIB}, *([{"level": 3, "bytes": l3}] if l3 else [])]
    return replace(study, record=study.record.model_copy(update={"host": study.record.host | {"caches": caches}}))


def made(directory):
    directory.mkdir()
    return directory


def lines_of(page: str) -> dict[str, list[dict]]:
    """Name -> shapes of that name in all plots."""
    lines: dict[str, list[dict]] = {}
    for plot in plots(page).values():
        for shape in plot["layout"].get("shapes", ()):
            lines.setdefault(shape["name"], []).append(shape)
    return lines


def test_the_size_that_fills_the_l3_stands_at_its_entries(tmp_path):
    page = render(study_document(a_study(tmp_path, 24 * MIB)))
    for line in lines_of(page)["fills the L3"]:
        assert line["x0"] == line["x1"] == pytest.approx(24 * MIB / BYTES, rel=0.001)
        assert line["xref"] == "x" and line["yref"] == "y domain" and line["showlegend"]
    assert "fills the L3: 262,000 entries, by the handler’s counter memory, have the 24.0 MiB of the L3" in page


def test_a_cache_beyond_the_sizes_or_not_known_has_no_line(tmp_path):
    assert "fills the L3" not in render(study_document(a_study(tmp_path, 1 << 30)))
    assert "fills the L3" not in {mark.name for mark in marks_of(replace_caches(a_study(made(tmp_path / "b"), None)))}

    sent = replace_caches(a_study(made(tmp_path / "c"), None), caches=[{"level": 3, "bytes": "many"}])
    assert "fills the L3" not in {mark.name for mark in marks_of(sent)}


def replace_caches(study: Study, **caches) -> Study:
    """As it is on a host whose kernel reports no cache, and in a record from before caches were facts, or with these."""
    host = {name: value for name, value in study.record.host.items() if name != "caches"} | caches
    return replace(study, record=study.record.model_copy(update={"host": host}))


@pytest.mark.parametrize(
    ("title", "names"),
    [("alike", {"fills the L3"}), ("doubled", {"fills the L3, lookup single", "fills the L3, lookup bulk"})],
)
def test_levels_whose_tables_have_other_bytes_have_lines_of_their_own(tmp_path, title, names):
    scenario = SCENARIO.replace("duration", f'title = "{title}"\nduration', 1)
    study = a_study(tmp_path, 24 * MIB, ENTRIES + METHOD, scenario=scenario)
    sizes = {mark.name: mark.at for mark in marks_of(study) if mark.over}
    assert sizes.keys() == names
    assert max(sizes.values()) / min(sizes.values()) == pytest.approx(len(names))


def test_a_factor_that_does_not_change_the_bytes_has_no_line_of_its_own(tmp_path):
    cores = '[[factor]]\nkey = "client.inflight"\nvalues = [32, 64, 128]\n'
    scenario = SCENARIO.replace("duration", 'title = "doubled"\nduration', 1)
    marks = marks_of(a_study(tmp_path, 24 * MIB, ENTRIES + METHOD + cores, scenario=scenario))
    assert [mark.name for mark in marks if mark.over] == ["fills the L3, lookup single", "fills the L3, lookup bulk"]


def test_l1_lies_at_the_cost_of_one_entry(tmp_path):
    study = a_study(tmp_path, None)
    page = render(study_document(study))
    (line,) = lines_of(page)["L(1)"]
    (one,) = [row["p50"] for row in study.rows if row["entries"] == 1]
    assert line["y0"] == line["y1"] == one and line["xref"] == "x domain"
    assert "p50 with one entry on one core, the median of its runs" in page
    without = a_study(made(tmp_path / "b"), None, ENTRIES.replace("[1, ", "["))
    assert "L(1)" not in render(study_document(without))


def test_l1_lies_in_the_plot_of_percentiles(tmp_path):
    study = a_study(tmp_path, None, head=HEAD + 'latency = ["percentiles"]\n')
    *_, percentiles = plots(render(study_document(study))).values()
    assert [shape["name"] for shape in percentiles["layout"]["shapes"]] == ["L(1)"]


def test_the_line_rate_of_10_gbit_s_is_that_of_the_thesis():
    assert line_rate_mpps(10e9, 60) == pytest.approx(14.88, abs=0.005)
    assert line_rate_mpps(100e9, 60) == pytest.approx(148.8, abs=0.05)
    assert line_rate_mpps(10e9, 1514) == pytest.approx(0.8127, abs=0.0001)


@pytest.mark.parametrize(
    ("head", "scenario", "of"),
    [
        ('line_rate = "1Gbps"\n', "", "that the study names"),
        ("", '[wire]\nlink = { rate = "1Gbps" }\n', "that the scenario emulates"),
    ],
)
def test_the_line_rate_is_of_the_named_or_the_emulated_link(tmp_path, head, scenario, of):
    study = a_study(
        tmp_path, None, head=HEAD + head, scenario=SCENARIO.replace("[[workload]]", scenario + "[[workload]]", 1)
    )
    [mark] = [mark for mark in marks_of(study) if mark.name == "line rate"]
    assert f"of the link {of}" in mark.source and "1 Gbit/s / 8 / (" in mark.source
    page = render(study_document(study))
    lines = lines_of(page).get("line rate", [])
    assert all(line["y0"] == mark.at for line in lines)
    assert bool(lines) != ("it is outside the plot" in page)


def test_a_study_without_a_link_has_no_line_rate(tmp_path):
    assert "line rate" not in render(study_document(a_study(tmp_path, None)))


def test_what_is_no_bit_rate_is_refused_at_its_line(tmp_path):
    with on_paper(), pytest.raises(UserError, match=r"far\.toml:6: line_rate"):
        prepare(written(tmp_path, ENTRIES, HEAD + 'line_rate = "fast"\n', SCENARIO), [], tmp_path / "out")


def test_the_size_lies_between_two_measured_ones_by_ratios():
    assert filling([(100, 6400.0), (10_000, 640_000.0)], 64_000) == pytest.approx(1000)
    assert filling([(100, 6400.0), (10_000, 640_000.0)], 640_001) is None
    assert filling([(100, 6400.0)], 64) is None


def test_lookups_read_one_of_two_copies_and_few_slots_of_prefixes():
    assert lookup_bytes({"access": "rcu", "kind": "exact"}, 1000.0, 5.0) == 500.0
    assert lookup_bytes({"access": "pointer", "kind": "lpm"}, 6.7e7, 100.0) == 6400.0
