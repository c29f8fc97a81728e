"""Which points of a figure are run: the options of the paper's scripts, and what is refused."""

from pathlib import Path

import pytest
from pvcc.conduct import Blocks, run_figure
from pvcc.fig2 import Fig2
from pvcc.fig6 import Fig6
from pvcc.fig10 import CAPACITY_PER_S, Fig10
from pvcc.figure import FIGURES, figure_named
from pvcc.points import OPTIONS, Points, read_points
from pvcc.record import FigureRecord
from pvcc.servers import PROFILES
from pvcc.site import choose_site
from reproduced_rows import row6
from sharing_tools import needs_two_cpus
from typer.testing import CliRunner

from windtunnel.cli.app import app
from windtunnel.errors import UserError


@pytest.fixture(autouse=True)
def servers(monkeypatch):
    """Which servers this host has is not asked."""
    for module in ("fig2", "fig6"):
        monkeypatch.setattr(f"pvcc.{module}.find_server", lambda kind: kind)
        monkeypatch.setattr(f"pvcc.{module}.version_of", lambda kind: "1")


def points(name: str, **texts: str) -> Points:
    return read_points(name, figure_named(name).options, texts)


class TestPoints:
    def test_those_of_the_papers_scripts(self):
        assert points("fig2", threads="24, 1,12") == Points(threads=(1, 12, 24))
        assert points("fig6", workloads="redis,memcached", rates="90000,5000") == Points(
            workloads=("memcached", "redis"), rates=(5000, 90000)
        )
        assert points("fig10", vms="4", tslices="100,1000", rates="1000") == Points(
            vms=(4,), tslices=(100, 1000), rates=(1000,)
        )
        assert points("fig11") == Points()

    @pytest.mark.parametrize("name", FIGURES)
    @pytest.mark.parametrize("option", OPTIONS)
    def test_what_it_does_not_have_is_refused_with_what_it_has(self, name, option):
        has = figure_named(name).options
        text = {"workloads": "redis", "clients": "wrk", "batch": "sysbench"}.get(option, "50")
        if option in has:
            assert getattr(points(name, **{option: text}), option)
            return
        with pytest.raises(UserError, match=f"{name} has no --{option}") as refused:
            points(name, **{option: text})
        assert all(f"--{one}" in refused.value.remedy for one in has)

    @pytest.mark.parametrize(
        ("option", "text", "message"),
        [
            ("rates", "5000,", '"" is no number from 1 to 10000000'),
            ("rates", "5k", '"5k" is no number'),
            ("rates", "0", '"0" is no number'),
            ("rates", "-5", '"-5" is no number'),
            ("rates", "²", '"²" is no number'),
            ("rates", "5000,5000", "a value twice"),
            ("clients", "wget", 'no "wget"'),
            ("workloads", "mysql", 'no "mysql"'),
            ("workloads", "", 'no ""'),
        ],
    )
    def test_what_is_no_point(self, option, text, message):
        with pytest.raises(UserError) as refused:
            points("fig6", **{option: text})
        assert message in refused.value.message and refused.value.remedy

    def test_a_slice_is_one_that_a_slicer_takes(self):
        with pytest.raises(UserError, match="no number from 10 to 1000000"):
            points("fig10", tslices="9")


class TestArms:
    def test_fig2_has_seven_requests_in_flight_a_thread(self):
        arms = Fig2(False, "kicker", Points(threads=(1, 24))).arms()
        assert {arm["waiting"] for arm in arms} == {7, 168}
        assert {arm["waiting"] for arm in Fig2(True, "kicker").arms()} == {7, 84}

    def test_fig6(self):
        arms = Fig6(True, "kicker", Points(workloads=("memcached",), rates=(5000, 90000))).arms()
        assert {arm["server"] for arm in arms} == {"memcached"} and {arm["rps"] for arm in arms} == {5000, 90000}
        assert len(arms) == 6
        assert {arm["server"] for arm in Fig6(True, "kicker").arms()} == set(PROFILES)

    def test_a_rate_of_fig10_is_that_of_one_tenant(self):
        arms = Fig10(True, "kicker", Points(vms=(2, 4), tslices=(100,), rates=(1000,))).arms()
        assert [(arm["tenants"], arm["load"] * CAPACITY_PER_S) for arm in arms] == [(2, 2000), (4, 4000)]
        assert {arm["slice_us"] for arm in arms} == {100}

    def test_what_was_chosen_stands_with_the_results(self):
        assert Points(vms=(4,), rates=(1, 2)).setting() == {"vms": "4", "rates": "1, 2"}


@needs_two_cpus
class TestTrial:
    def ran(self, directory: Path, of: Fig6, blocks: Blocks) -> tuple[FigureRecord, list[tuple[int, str, int]]]:
        """The record, and of each trial its block, its arm and its seed. No server is started."""
        seeds = []
        of.shares = False

        def run(arm, place):
            seeds.append(place.seed)
            made = row6(1, "tick", 1).model_dump()
            return {key: made[key] for key in made.keys() - {"block", "position", "arm"}}

        of.run = run
        done = run_figure(of, choose_site(None, None), directory, blocks, 7, lambda *_: None)
        return done.record, [(row.block, row.arm, seed) for row, seed in zip(done.rows, seeds, strict=True)]

    @pytest.mark.slow
    def test_one_block_is_that_of_a_run_of_all(self, tmp_path):
        """Its order and its arrivals."""
        _, every = self.ran(tmp_path / "all", Fig6(True, "kicker"), Blocks(1, 3))
        record, third = self.ran(tmp_path / "third", Fig6(True, "kicker"), Blocks(3, 3))
        assert third == [trial for trial in every if trial[0] == 3]
        assert (record.first_block, record.blocks, len(record.order)) == (3, 1, 1)

    def test_what_the_setting_says_of_a_choice_is_kept(self, tmp_path):
        """As of sysbench, with its version."""
        of = Fig6(True, "kicker", Points(workloads=("redis",), rates=(5,)))
        of.setting = lambda: {"workloads": "redis 7"}
        record, _ = self.ran(tmp_path / "x", of, Blocks(1, 1))
        assert record.setting == {"workloads": "redis 7", "rates": "5"}

    def test_points_that_cannot_be_run_leave_no_directory(self, tmp_path):
        of = Fig6(True, "kicker", Points(clients=("wrk",), workloads=("redis",)))
        with pytest.raises(UserError, match="none of wrk can ask redis"):
            run_figure(of, choose_site(None, None), tmp_path / "x", Blocks(1, 1), 7, lambda *_: None)
        assert not (tmp_path / "x").exists()

    def test_blocks_and_trial_exclude_each_other(self, tmp_path):
        words = ["share", "reproduce", "fig10", "--blocks", "2", "--trial", "1", "--out", str(tmp_path / "x")]
        result = CliRunner().invoke(app, words)
        assert isinstance(result.exception, UserError) and "exclude each other" in result.exception.message
        assert not (tmp_path / "x").exists()

    def test_the_command_reads_its_points(self, tmp_path):
        words = ["share", "reproduce", "fig11", "--rates", "5", "--out", str(tmp_path / "x")]
        result = CliRunner().invoke(app, words)
        assert isinstance(result.exception, UserError) and "fig11 has no --rates" in result.exception.message
        assert not (tmp_path / "x").exists()
