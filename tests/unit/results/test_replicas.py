"""Runs of many workers, simulated: tables of groups that fit a terminal, and every number is one of a worker."""

import pytest
from diagnosed_runs import made
from many_workers import plan_of_pairs
from terminal_views import printed

from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.document import diagnosis_document
from windtunnel.results.replicas import MOST_ROWS, grouped, representatives
from windtunnel.results.run.document import run_document


def test_few_rows_are_shown_one_by_one():
    rows = list(range(MOST_ROWS))
    assert representatives(grouped(rows, lambda row: "same"), float) == [(row, "") for row in rows]


def test_the_odd_one_comes_first_then_the_median_and_the_other_end():
    rows = [50, 51, 52, 53, 54, 55, 56, 90, 1, 2]
    shown = representatives(grouped(rows, lambda row: row > 9), float)
    assert shown == [(90, "most of 8"), (53, "median of 8"), (50, "least of 8"), (1, ""), (2, "")]
    assert len(rows) > MOST_ROWS


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """64 workers, one of which is slow."""
    plan = plan_of_pairs(tmp_path_factory.mktemp("plan"), 32)
    return made(plan=plan, client=0.3, server=0.2, waits={5: 0.02})


def test_the_table_of_64_workers_has_a_row_for_three_of_each_group(run):
    lines = printed(run_document(run)).splitlines()
    (head,) = [n for n, line in enumerate(lines) if line.startswith("workers ")]
    table = lines[head + 2 : lines.index("", head)]
    assert len(table) == 12
    odd = f"CPU {run.record.engines[0].plan.workers[5].cpu}".removeprefix("CPU ")
    assert odd in table[0].split() and "most of 16" in table[0]


def test_a_diagnosis_of_64_workers_fits_a_screen(run):
    lines = printed(diagnosis_document(diagnose(run))).splitlines()
    assert sum(" of 16" in line for line in lines) == 12
    assert sum("time of the windows" in line for line in lines) == 4
    assert len(lines) <= 80
