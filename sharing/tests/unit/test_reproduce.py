"""The seed's figures: the order of trials, what is left out, bad input, what lies in a directory, and short runs of each."""

import json
import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest
from pvcc import fig2, fig6, fig10
from pvcc.conduct import Blocks, finish, run_figure
from pvcc.fig6 import Fig6
from pvcc.fig10 import Fig10
from pvcc.fig11 import Fig11
from pvcc.figure import figure_named
from pvcc.points import Points
from pvcc.record import NAME, FigureRecord, drawn
from pvcc.responses import OWN
from pvcc.servers import Content
from pvcc.site import choose_site, watching
from pvcc.timeline import Timeline, scaled_steps
from pvcc.trials import Arm, exclusion_reason, pairs, spread
from reproduced_rows import row6, row11, rows6
from sample_runs import Page
from sharing_tools import CPUS, alone_on_this_machine, needs_rights, needs_two_cpus
from tenant_tools import needs_native, needs_server
from typer.testing import CliRunner

from windtunnel.cli.app import app
from windtunnel.engine import find
from windtunnel.engine.histogram import Histogram
from windtunnel.errors import UserError
from windtunnel.finding import Finding
from windtunnel_sharing.tenant import TenantWindow

SHORT_NS = 200_000_000
ONE = Blocks(1, 1)


class TestTrials:
    def test_blocks_are_complete_and_drawn(self):
        labels = [f"arm {n}" for n in range(12)]
        order = drawn(labels, 4, seed=3)
        assert all(sorted(block) == sorted(labels) for block in order)
        assert len({tuple(block) for block in order}) == 4
        assert order == drawn(labels, 4, seed=3) != drawn(labels, 4, seed=4)

    def test_pairs_are_of_one_block(self):
        rows = [row6(1, "tick", 10), row6(2, "tick", 20), row6(2, "sliced", 2), row6(3, "sliced", 3)]
        found = pairs(rows, lambda r: r.sharing == "tick", lambda r: r.sharing == "sliced", lambda r: r.p99_ns)
        assert found == ([20], [2])
        assert spread([3, 1, 2]) == (2, 1, 3) and spread([]) is None

    def test_what_the_host_did_disturbs(self):
        assert exclusion_reason(0.99, 10_000) is None and exclusion_reason(None) is None
        assert exclusion_reason(0.7) == "other threads had 30% of the tenants' core"
        assert exclusion_reason(0.99, 50_000_000) == "the client did not run for 50 ms"

    def test_an_arm_says_its_factors(self):
        arm = Arm((("server", "redis"), ("rps", 1000)))
        assert arm["rps"] == 1000 and arm.label == "server redis, rps 1000"


class TestSite:
    @needs_two_cpus
    def test_two_different_cpus(self):
        site = choose_site(None, None)
        assert (site.tenant_cpu, site.client_cpu) == (CPUS[-1], CPUS[0])
        assert choose_site(CPUS[0], None).client_cpu != CPUS[0]
        assert choose_site(None, CPUS[-1]).tenant_cpu != CPUS[-1]
        with pytest.raises(UserError, match="which its tenants use"):
            choose_site(CPUS[0], CPUS[0])

    def test_no_such_cpu(self):
        with pytest.raises(UserError, match="CPU 9999"):
            choose_site(9999, None)

    def test_one_cpu_is_too_few(self, monkeypatch):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
        with pytest.raises(UserError, match="two CPUs"):
            choose_site(None, None)

    def test_who_ran_on_a_core_is_watched(self):
        me = os.getpid()
        with watching([min(os.sched_getaffinity(0))], lambda: [me]) as core:
            end = time.thread_time() + 0.05
            while time.thread_time() < end:  # the kernel books what ran at its ticks
                pass
        assert 0 < core.own_ns <= 2 * core.elapsed_ns and 0 < core.own_share <= 1


class TestTimeline:
    def test_the_papers_shape(self):
        timeline = Timeline.of(50, 100_000)
        assert [round(length / 1e9) for length, _ in timeline.phases] == [10] * 5
        assert [rate for _, rate in timeline.phases] == [1000, 10_000, 100_000, 10_000, 1000]
        assert [timeline.load_at(s * 10**9) for s in (5, 15, 25, 35, 45, 99)] == [
            "low",
            "middle",
            "peak",
            "middle",
            "low",
            "low",
        ]

    def test_weights_leave_a_cpu_but_at_the_peak(self):
        timeline = Timeline.of(10, 100_000)
        assert timeline.left_cpu() == pytest.approx(0.8)
        steps = scaled_steps(timeline, ["a", "b"])
        assert [sum(share.weight for share in shares) for _, shares in steps] == [128, 256, 512, 256, 128]
        assert steps[0][0] < 0 and [at for at, _ in steps[1:]] == [2 * 10**9, 4 * 10**9, 6 * 10**9, 8 * 10**9]

    def test_a_long_window_is_spread_over_its_time(self):
        """A tenant that was away at a window's end: its rate is not its number over one window, nor nobody's in the others."""
        timeline, ms = Timeline.of(10, 100_000), 10**6
        tenants = [[window(0, 100 * ms, 10), window(100 * ms, 300 * ms, 40)], [window(0, 300 * ms, 30)]]
        found = timeline.gathered(tenants, 0)
        assert [one.at_ns // ms for one in found] == [50, 150, 250]
        assert [one.served_per_s for one in found] == pytest.approx([200, 300, 300])
        assert [one.latency.total for one in found] == [40, 70, 70]
        assert [one.served for one in timeline.while_load("low", tenants, 0)] == [10, 40, 30]
        assert not timeline.while_load("peak", tenants, 0)


def window(begin: int, end: int, served: int) -> TenantWindow:
    empty = Histogram(bits=10, counts=[], total=0, sum=0, min=None, max=None)
    latency = Histogram(bits=10, counts=[(1, served)], total=served, sum=served, min=1, max=1)
    return TenantWindow(
        type="window", begin_ns=begin, end_ns=end, own_ns=0, served_ns=0, offered=served, served=served, lost=0, polls=1, empty_polls=0,
        sleeps=0, latency=latency, wait=empty, slice=empty, gap=empty,
    )  # fmt: skip


def test_a_tenant_that_never_ran_fails_its_trial():
    """It has measured nothing: a rate would be over the time of the others, or over none."""
    with pytest.raises(UserError, match="1 of 2 tenants did not get the core"):
        fig10._measured([window(5, 100, 10), window(0, 0, 0)])
    assert fig10._measured([window(5, 100, 10), window(5, 105, 10)])["served_per_s"] == 20 / 100 * 1e9


def record(of) -> FigureRecord:
    return FigureRecord(
        figure=of.name,
        title=of.title,
        quick=True,
        seed=1,
        blocks=6,
        order=[],
        tenant_cpu=1,
        client_cpu=0,
        setting={"redis": "<script>alert(1)</script>"},
        versions={"windtunnel": "0"},
        host={"hostname": "here"},
        started=datetime.now(UTC),
        ended=None,
        failed=["block 1: <b>no</b>"],
    )


def finished(directory: Path, of, rows) -> str:
    """The page."""
    return (finish(of, directory, record(of), rows).path / "report.html").read_text()


def select(directory: Path, columns: str, more: str = "limit 1") -> list[tuple]:
    return duckdb.sql(f"select {columns} from '{directory / 'trials.parquet'}' {more}").fetchall()


@pytest.mark.slow
class TestDirectory:
    def test_holds_verdicts_table_and_page(self, tmp_path):
        page = finished(tmp_path, Fig6(True, "kicker"), rows6(50_000, 12_000_000, 400_000))
        kept = FigureRecord.model_validate_json((tmp_path / NAME).read_bytes())
        assert [v.outcome for v in kept.verdicts] == ["holds"] * 3
        table = select(tmp_path, "sharing, count(*)", "group by 1 order by 1")
        assert table == [("alone", 6), ("sliced", 6), ("tick", 6)]
        text = Page(page).text
        assert "Claim 2: holds" in text and "Fig. 6: holds" in text
        assert not [text for text in ("Claim Fig.", "<script>alert(1)", "<b>no</b>") if text in page]
        assert page.index("Claim 2: ") < page.index('<div id="') < page.index("<h2>Comparisons: Claim 2</h2>")

    def test_findings_stand_in_the_table_and_on_the_page(self, tmp_path):
        said = Finding("neighbour", "somebody else <was> there", "others had 9%", "a shield")
        rows = [row11(b, "scaled", findings=[said], excluded="others had 9%") for b in range(3)]
        page = finished(tmp_path, Fig11(True, "kicker"), rows)
        assert "neighbour: somebody else &lt;was&gt; there, in 3 of 3 trials" in page and "remedy: a shield" in page
        assert "There is none of naive and pinned and scaled." in page
        assert select(tmp_path, "findings") == [(["neighbour: others had 9%"],)]

    def test_lists_are_columns_too(self, tmp_path):
        finished(
            tmp_path, Fig11(True, "kicker"), [row11(b, way) for b in range(3) for way in ("naive", "pinned", "scaled")]
        )
        assert select(tmp_path, "served_series, p99_series") == [([1.0, 2.0], [None, 5])]

    def test_an_existing_directory_is_never_written_to(self, tmp_path):
        (tmp_path / "mine").write_text("kept")
        with pytest.raises(UserError, match="exists already"):
            run_figure(Fig10(True, "kicker"), choose_site(None, None), tmp_path, ONE, 1, lambda *_: None)
        assert [path.name for path in tmp_path.iterdir()] == ["mine"]

    def test_trials_are_where_nobody_else_writes_whatever_takes_the_name_of_the_directory(self, tmp_path, monkeypatch):
        monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "runtime"))
        out, theirs, left = tmp_path / "out", tmp_path / "theirs", tmp_path / "runtime/windtunnel/figure-4194305"
        theirs.mkdir()
        left.mkdir(parents=True, mode=0o700)
        left.parent.chmod(0o700)
        scratches = []

        def run(arm, place):
            scratches.append(place.directory)
            found = place.directory.stat()
            assert (found.st_uid, found.st_mode & 0o777) == (os.geteuid(), 0o700) and not left.exists()
            if out.exists():
                out.rename(tmp_path / "moved")
                out.symlink_to(theirs)
            raise UserError("no trial")

        figure = Fig10(True, "kicker")
        figure.shares, figure.arms, figure.run = False, lambda: [Arm((("way", "any"),))], run
        with pytest.raises(UserError, match="no trial"):
            run_figure(figure, choose_site(None, None), out, Blocks(1, 2), 1, lambda *_: None)
        assert scratches and not any(scratch.is_relative_to(out) or scratch.exists() for scratch in scratches)
        assert not list(theirs.iterdir()) and (tmp_path / "moved/figure.json").is_file()


class TestCommand:
    def run(self, *words: str):
        return CliRunner().invoke(app, ["share", "reproduce", *words])

    def test_an_unknown_name_is_refused(self):
        assert self.run("fig3").exit_code == 2
        with pytest.raises(UserError, match='no figure "fig3"'):
            figure_named("fig3")

    def test_without_a_checkout_the_figures_are_said_to_be_in_one(self, tmp_path, monkeypatch):
        monkeypatch.setattr(find, "CHECKOUT", tmp_path)
        result = self.run("fig10", "--out", str(tmp_path / "x"))
        assert isinstance(result.exception, UserError) and "sharing/studies/pvcc/" in result.exception.message
        assert "./windtunnel share reproduce" in result.exception.remedy
        assert not list(tmp_path.iterdir())

    def test_an_unknown_slicer(self, tmp_path):
        result = self.run("fig10", "--slicer", "magic", "--out", str(tmp_path / "x"))
        assert isinstance(result.exception, UserError) and 'no slicer "magic"' in result.exception.message
        assert not (tmp_path / "x").exists()

    def test_the_clients_core_is_not_the_tenants(self, tmp_path):
        cpu = str(min(os.sched_getaffinity(0)))
        result = self.run("fig6", "--cpu", cpu, "--client-cpu", cpu, "--out", str(tmp_path / "x"))
        assert isinstance(result.exception, UserError) and "which its tenants use" in result.exception.message


alone = pytest.fixture(alone_on_this_machine, scope="module")


@pytest.mark.alone
@pytest.mark.slow
@needs_two_cpus
@pytest.mark.usefixtures("alone")
class TestRun:
    """One short trial of each kind, for real; nothing is said of how long anything took."""

    @pytest.fixture(autouse=True)
    def able(self, monkeypatch):
        needs_native("client", "keeper", "slicer", "tenant", "batch")
        for figure, measured in ((fig2, SHORT_NS), (fig6, (5 * SHORT_NS,)), (fig10, (SHORT_NS,))):
            monkeypatch.setattr(figure, "WARMUP_NS", SHORT_NS)
            monkeypatch.setattr(figure, "MEASURED_NS", measured)
        monkeypatch.setattr(fig2, "CONTENT", Content(keys=500))

    def run(self, tmp_path: Path, of, arms: list[Arm]):
        of.arms = lambda: arms
        finished = run_figure(of, choose_site(None, None), tmp_path / "out", ONE, 1, lambda *_: None)
        assert finished.record.failed == []
        assert len(finished.rows) == len(arms) == len((finished.path / "trials.jsonl").read_text().splitlines())
        assert json.loads((finished.path / "figure.json").read_text())["ended"]
        return finished.rows

    def test_fig2(self, tmp_path):
        needs_server("memcached")
        of = figure_named("fig2")(True, "kicker")
        rows = self.run(tmp_path, of, [Arm((("way", way), ("waiting", 4))) for way in ("ring", "memcached")])
        assert all(row.responses_per_s > 0 and row.per_core > 0 for row in rows)

    @needs_rights
    def test_fig6(self, tmp_path):
        needs_server("redis")
        asked = (("server", "redis"), ("client", OWN))
        arms = [Arm((*asked, ("sharing", how), ("rps", 500))) for how in ("alone", "sliced")]
        rows = self.run(tmp_path, Fig6(True, "kicker"), arms)
        assert all(row.responses_per_s > 0 for row in rows)

    @needs_rights
    def test_fig6_with_a_client_of_others(self, tmp_path):
        needs_server("redis")
        if shutil.which("redis-benchmark") is None:
            pytest.skip("no redis-benchmark: apt-get install redis-tools")
        arms = [Arm((("server", "redis"), ("client", "redis-benchmark"), ("sharing", "alone"), ("rps", None)))]
        [row] = self.run(tmp_path, Fig6(True, "kicker"), arms)
        assert row.responses_per_s > 0 and row.p99_ns >= row.p50_ns > 0
        assert (row.client, row.offered_per_s, row.arrivals) == ("redis-benchmark", None, "closed loop")

    @needs_rights
    def test_fig10(self, tmp_path):
        arms = [Arm((("tenants", 2), ("slice_us", 500), ("load", 0.1)))]
        [row] = self.run(tmp_path, Fig10(True, "kicker"), arms)
        assert row.served_per_s > 0 and row.arrivals == "inside"

    @needs_rights
    def test_fig11(self, tmp_path):
        of = Fig11(True, "kicker")
        of.time = Timeline.of(1.0, 20_000)
        rows = self.run(tmp_path, of, [Arm((("way", way),)) for way in ("naive", "pinned", "scaled")])
        by_way = {row.way: row for row in rows}
        assert by_way["pinned"].batch_events == 0 < by_way["naive"].batch_events
        assert by_way["scaled"].batch_events > 0 and all(row.served > 0 for row in rows)

    @needs_rights
    def test_fig11_beside_sysbench(self, tmp_path):
        if shutil.which("sysbench") is None:
            pytest.skip("no sysbench: apt-get install sysbench")
        of = Fig11(True, "kicker", Points(batch=("sysbench",)))
        of.time = Timeline.of(3.0, 20_000)
        [row] = self.run(tmp_path, of, [Arm((("way", "scaled"),))])
        assert row.batch_events > 0 and row.batch_cpu > 0
