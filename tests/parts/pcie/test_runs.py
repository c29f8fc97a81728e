"""Estimates of runs: by queue, from the windows that count, on the scenario's NIC; and how tables, documents and pages show them."""

import json
import os

import in_process
import pytest
import sample_lines as sample
import sample_runs
from terminal_views import printed

from windtunnel.errors import UserError
from windtunnel.parts.pcie.blocks import limit_of, limits
from windtunnel.parts.pcie.measured import FILE, read_measured
from windtunnel.parts.pcie.nic import text_of
from windtunnel.parts.pcie.run_estimate import ports_of, tightest
from windtunnel.results.charts.run import throughput
from windtunnel.results.page.renderer import render
from windtunnel.results.run.as_json import run_json
from windtunnel.results.run.document import run_document
from windtunnel.results.run.machine import port_section
from windtunnel.runs import Verdict, load
from windtunnel.runs.summary import summarise

IOSTAT = """ Performance counter stats for 'system wide':

   port             Inbound Read(MB)    Inbound Write(MB)    Outbound Read(MB)   Outbound Write(MB)
0000:00                    1                    0                    2                    3
0000:17              1,120                  965                    0                   11

       2.000000000 seconds time elapsed
"""
PCM = """Skt,PCIRdCur,ItoM,ItoMCacheNear,UCRdF,WiL,PCIe Rd (B),PCIe Wr (B)
0,100,1,0,0,7,1000000,500000
1,0,0,0,0,0,200000,0
Skt,PCIRdCur,ItoM,ItoMCacheNear,UCRdF,WiL,PCIe Rd (B),PCIe Wr (B)
0,100,1,0,0,7,2000000,700000
1,0,0,0,0,0,0,0
"""


def change(window, **stages):
    """The window with other bursts: nic_rx, nic_tx -> histogram."""
    changed = [s.model_copy(update={"burst": stages.get(s.stage, s.burst)}) for s in window.stages]
    return window.model_copy(update={"stages": changed})


def execute(directory, plan=None, verdict=None, resolved=None, bursts=None):
    """`bursts`: of the measured windows; those of the others must not count."""
    about = {"resolved": resolved} if resolved else {}

    def lines(plan):
        for line in sample.engine_lines(plan):
            if bursts and line.type == "window":
                line = change(
                    line, **(bursts if line.phase == "measure" else {"nic_rx": {64: 900}, "nic_tx": {64: 900}})
                )
            yield line

    return sample_runs.execute(directory, [plan or sample.plan()], ["windtunnel"], verdict, lines, **about)


ON_GENERIC = {side: {"nic_profile": "generic"} for side in ("client", "server")}


def text(run) -> str:
    return printed(run_document(run), 220)


def said(*arguments) -> str:
    result = in_process.run("pcie", *arguments, COLUMNS="220")
    if result.exception:
        raise result.exception
    return result.stdout


def test_a_run_is_estimated_from_its_measured_windows(tmp_path):
    """Eight windows of half a second, each with a hundred bursts of 4 and fifty of 8 on every port: 800 packets a window."""
    run = execute(tmp_path / "run", bursts={"nic_rx": {0: 500, 4: 100, 8: 50}, "nic_tx": {4: 100, 8: 50}})
    client, server = ports_of(run)
    assert (client.port, server.port) == ("client", "server") and client.would_be and client.nic == "generic"
    for port in (client, server):
        [queue] = port.queues
        traffic = queue.estimate.traffic
        assert (traffic.rx_pps, traffic.tx_pps, traffic.rx_size, traffic.tx_size) == (1600, 1600, 128, 128)
        assert traffic.tx_batches.exact == 800 / 150 and traffic.tx_batches.worded == 6
        assert queue.estimate.rate.inbound_read == 1600 * (32 + 16 + 128)
        assert queue.estimate.rate.outbound_write == pytest.approx(1600 * 4 * (1 / 32 + 150 / 800))
        assert queue.estimate.worded == pytest.approx(1600 * 4 * (1 / 32 + 1 / 6))
        assert port.rate == queue.estimate.rate and port.ceiling == queue.estimate.ceiling


def test_queues_stand_apart_and_add_up(tmp_path):
    plan = sample.plan()
    document = plan.model_dump()
    for number, endpoint in enumerate(document["endpoints"]):
        endpoint["port"]["queues"] = 2
        endpoint["dispatchers"].append({"workload": 0, "queue": 1})
        second = [{"endpoint": number, "stage": stage, "index": 1} for stage in ("nic_rx", "nic_tx")]
        document["workers"][number]["stages"] += second
    bursts = {"nic_rx": {4: 200}, "nic_tx": {4: 200}}
    run = execute(tmp_path / "run", type(plan).model_validate(document), resolved=ON_GENERIC, bursts=bursts)
    for port in ports_of(run):
        assert [queue.number for queue in port.queues] == [0, 1]
        one, other = (queue.estimate for queue in port.queues)
        assert one.rate == other.rate and port.rate == one.rate + other.rate
        assert port.ceiling == pytest.approx(one.ceiling / 2) and port.worded == 2 * one.worded
    assert text(run).count(" all ") >= 2


def test_without_accounting_there_is_the_mean_of_the_port(tmp_path):
    def uncounted(plan):
        for line in sample.engine_lines(plan):
            if line.type == "window":
                stages = [s.model_copy(update={"calls": 0, "burst": {}, "objects": 0}) for s in line.stages]
                line = line.model_copy(update={"stages": stages})
            yield line

    run = sample_runs.execute(tmp_path / "run", [sample.plan(level="off")], ["windtunnel"], lines=uncounted)
    for port in ports_of(run):
        [queue] = port.queues
        batches = queue.estimate.traffic.tx_batches
        assert queue.number is None and batches.exact > 20 and batches.worded is None and queue.estimate.worded is None


def test_the_scenarios_nic_is_taken(tmp_path):
    run = execute(tmp_path / "run", resolved={"client": {"nic_profile": "mlx5"}, "server": {"nic_profile": None}})
    client, server = ports_of(run)
    assert (client.nic, server.nic) == ("mlx5", "generic") and client.link.lanes == 16
    assert [port.nic for port in ports_of(run, "ixgbe")] == ["ixgbe", "ixgbe"]
    assert ports_of(run, link={"lanes": 1})[0].ceiling < ports_of(run)[0].ceiling / 8


def test_a_record_names_a_shipped_nic(tmp_path):
    """A path in a record that somebody sent is not opened: here it would be waited for, for ever."""
    os.mkfifo(path := tmp_path / "fifo.toml")
    run = execute(tmp_path / "run", resolved={"server": {"nic_profile": str(path)}})
    for show in (ports_of, text, run_json):
        with pytest.raises(UserError, match=f'no shipped NIC "{path}"'):
            show(run)
    path.unlink()
    path.write_text(text_of("mlx5"))
    with pytest.raises(UserError, match=f'no shipped NIC "{path}"'):
        ports_of(run)
    assert [port.nic for port in ports_of(run, str(path))] == ["mlx5", "mlx5"]  # the reader names it


def test_thresholds_of_the_plan_are_taken_and_held_against_its_rings(tmp_path):
    plan = sample.plan()
    document = plan.model_dump()
    document["endpoints"][0]["port"] |= {"rx_free_thresh": 64, "tx_rs_thresh": 8}
    document["endpoints"][1]["port"] |= {"tx_descriptors": 16}
    client, server = ports_of(execute(tmp_path / "run", type(plan).model_validate(document), resolved=ON_GENERIC))
    settings = client.queues[0].estimate.settings
    assert (settings.rx_free, settings.tx_rs) == (64, 8)
    assert not server.queues and "tx_rs is 32, and the ring has 16 descriptors" in server.why_not
    assert "no estimate: tx_rs is 32" in text(load(tmp_path / "run"))


def test_show_has_the_estimate_and_says_what_it_is(tmp_path):
    run = execute(tmp_path / "run", resolved=ON_GENERIC)
    shown = text(run)
    assert "client, server: estimate: would be, on generic (Gen3 x8" in shown
    assert "PCIe by counters: not measured" in shown
    made = run_json(run)["pcie"]
    assert [port["would_be"] for port in made["ports"]] == [True, True] and made["measured"] is None
    assert made["ports"][0]["queues"][0]["ceiling_mpps"] > 0


def test_a_wire_without_a_pcie_has_no_estimate_unasked(tmp_path):
    run = execute(tmp_path / "run")
    assert "PCIe" not in text(run) and "PCIe" not in render(run_document(run))
    assert run_json(run)["pcie"]["ports"] and "would be, on generic" in said("estimate", tmp_path / "run")


def test_an_invalid_run_has_an_estimate_only_where_it_is_asked_for(tmp_path):
    run = execute(tmp_path / "run", verdict=Verdict(False, ["peer lost: gone"]))
    assert run_json(run)["pcie"] and run_json(run)["rejected"] is True
    with pytest.raises(UserError, match="invalid: peer lost: gone") as refused:
        said("estimate", tmp_path / "run")
    assert "--include-invalid" in refused.value.remedy
    assert "estimate" in said("estimate", tmp_path / "run", "--include-invalid")


def test_the_report_has_the_table_and_the_ceiling(tmp_path):
    run = execute(tmp_path / "run", resolved=ON_GENERIC)
    html = render(run_document(run))
    assert "PCIe traffic: an estimate" in html and "estimate: would be, on generic" in html and "not measured" in html
    link = tightest(ports_of(run))
    layout = throughput(run, limit_of(link, link.ceiling))["layout"]
    [note] = layout["annotations"]
    responses = sum(row.responses_per_s for row in summarise(run).workloads)
    assert f"PCIe ceiling of the {link.port}" in note["text"]
    assert f"{responses * link.ceiling / 1e6:.1f} M/s" in note["text"]
    assert "above this plot" in note["text"] and "annotations" not in throughput(run)["layout"]


def test_a_near_ceiling_is_drawn(tmp_path):
    """Of a narrow link: the line lies at the rate times what it may grow, and within the plot."""
    run = execute(tmp_path / "run")
    link = tightest(ports_of(run, link={"generation": 2, "lanes": 4}))
    layout = throughput(run, limit_of(link, link.ceiling))["layout"]
    line = layout["shapes"][-1]
    responses = sum(row.responses_per_s for row in summarise(run).workloads)
    assert line["type"] == "line" and line["y0"] == line["y1"] == pytest.approx(responses * link.ceiling)
    assert layout["yaxis"]["range"][1] > line["y0"]


@pytest.mark.parametrize(
    ("lines", "expected"), [(IOSTAT, (560.5e6, 482.5e6, 1e6, 7e6)), (PCM, (1.6e6, 0.6e6, None, None))]
)
def test_what_was_measured_stands_beside(tmp_path, lines, expected):
    run = execute(tmp_path / "run")
    (run.path / FILE).write_text(lines)
    tool = "perf iostat" if lines is IOSTAT else "pcm-pcie"
    made = run_json(run)["pcie"]["measured"]
    assert made["tool"] == tool
    assert tuple(made[f"{way}_{what}"] for way in ("inbound", "outbound") for what in ("read", "write")) == expected
    assert f"({tool}, all devices)" in text(run) and f"({tool}, all devices)" in render(run_document(run))
    if expected[3] is None:
        assert "outbound write not measured" in text(run)


def test_what_was_measured_is_not_read_through_a_link(tmp_path):
    """Who sent the run may not read what it leads to."""
    run = execute(tmp_path / "run")
    (tmp_path / "private").write_text(IOSTAT)
    (run.path / FILE).symlink_to(tmp_path / "private")
    with pytest.raises(UserError, match=rf"{FILE}.*a link"):
        run_json(run)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("nothing", "no output of `perf iostat`, `pcm-iio -csv` or"),
        (IOSTAT.replace("965", "x"), ':5: "x" is not a count'),
        (IOSTAT.replace(" 11\n", "\n"), ":5: 3 values of root port"),
        (IOSTAT.replace("2.000000000 seconds", "soon"), "no line with the seconds"),
        (PCM.replace("500000", "-5"), ':2: PCIe Wr (B): "-5" is not a count'),
        (PCM.replace(",200000,0", ",0"), ":3: 7 cells in a table of 8"),
        (
            PCM.replace("100,1", f"{60_000 * '1'},1"),
            ':2: PCIRdCur: "1111111111111111111111111111111111111111" is not a count',
        ),
        (
            PCM.replace("Skt,", "Skt,x").replace("PCIe Rd (B)", "PCIe Rd (B) of"),
            "no output of `perf iostat`, `pcm-iio -csv` or",
        ),
        (PCM.splitlines(keepends=True)[0], ":1: no socket follows"),
        (IOSTAT.replace("0000:", "0000 "), ":3: no root port follows"),
        (
            IOSTAT.replace("Inbound Read(MB)    Inbound Write(MB)", "x    Inbound Write(MB) Inbound Read(MB)"),
            "no output of",
        ),
    ],
)
def test_counters_that_cannot_be_read(tmp_path, lines, words):
    (tmp_path / "text").write_text(lines)
    with pytest.raises(UserError) as error:
        said("estimate", "--pps", "1M", "--measured", tmp_path / "text")
    assert words in error.value.message and error.value.remedy


IOSTAT_OF = """
 Performance counter stats for 'system wide':

   port             Inbound Read(MB)    Inbound Write(MB)    Outbound Read(MB)   Outbound Write(MB)
0000:3a                        {}                {}                    0                  112
0000:5d                           0                    0                    0                    0

      {} seconds time elapsed
"""


def test_the_section_of_the_ports_has_the_ceiling_of_the_tightest(tmp_path):
    run = execute(tmp_path / "run", resolved=ON_GENERIC)
    (limit,) = limits(run)
    port = tightest(ports_of(run))
    assert (limit.side, limit.times) == (port.port, port.ceiling) and port.label in limit.name
    assert limit.name in json.dumps(next(port_section(run, summarise(run))).blocks[0].plot)
    assert list(limits(execute(tmp_path / "none"))) == [], "no NIC ran, and the scenario names none"


def test_a_time_in_which_nothing_can_be_read_gives_no_rate(tmp_path):
    (tmp_path / "io.txt").write_text(IOSTAT_OF.format("6400", "12800", "1e-300"))
    with pytest.raises(UserError, match="1e-300 seconds elapsed"):
        read_measured(tmp_path / "io.txt")


FILTERED = """\
Skt,PCIRdCur,ItoM,PCIe Rd (B),PCIe Wr (B)
0,10000000,20000000,640000000,1280000000(Total)
0,1000000,5000000,64000000,320000000(Miss)
0,9000000,15000000,576000000,960000000(Hit)
1,0,0,0,0(Total)
1,0,0,0,0(Miss)
1,0,0,0,0(Hit)
"""


@pytest.mark.parametrize(
    "text",
    [
        IOSTAT_OF.format("6400", "12800", "10.000000000"),
        IOSTAT_OF.format("6400", "12800", "10,000000000"),
        IOSTAT_OF.format("6.400", "12.800", "10,000000000"),
        IOSTAT_OF.format("6,400", "12,800", "10.000000000"),
        IOSTAT_OF.format("6400,0", "12800,00", "10,000000000"),
        IOSTAT_OF.format("640,0", "1280", "1,000000000"),
        IOSTAT_OF.format("6.400,00", "12.800,0", "10,000000000"),
        "\ufeff" + IOSTAT_OF.format("6400", "12800", "10.000000000"),
        FILTERED,
        FILTERED + FILTERED,
        "\n".join(
            line.removesuffix("(Total)")
            for line in FILTERED.split("\n")
            if "(Miss)" not in line and "(Hit)" not in line
        ),
    ],
    ids=range(11),
)
def test_every_locale_and_filter_gives_the_same_bytes(tmp_path, text):
    """640 and 1,280 MB/s. A decimal comma that counts as one between thousands is wrong by 10^9."""
    (tmp_path / "text").write_text(text)
    measured = read_measured(tmp_path / "text")
    assert (measured.inbound_read, measured.inbound_write) == (640e6, 1280e6)


@pytest.mark.parametrize("value", ["6,40", "6400,", ",5", "6,4000", "64,00,000"])
def test_a_comma_that_is_neither_mark_is_refused(tmp_path, value):
    (tmp_path / "text").write_text(IOSTAT_OF.format(value, "12800", "10.000000000"))
    with pytest.raises(UserError, match=f':5: "{value}" is not a count'):
        read_measured(tmp_path / "text")


def test_two_tables_of_perf_are_their_mean(tmp_path):
    (tmp_path / "text").write_text(IOSTAT + IOSTAT)
    assert read_measured(tmp_path / "text").inbound_read == 560.5e6


def test_the_command_without_a_run():
    made = json.loads(said("estimate", "--pps", "13M", "--size", "64", "--burst", "4,8", "--json"))
    [port] = made["ports"]
    [queue] = port["queues"]
    assert queue["inbound_read"] == 1456 and queue["outbound_write"] == 11.375 and queue["tx_burst_worded"] == 6
    assert port["link"]["usable_gbps"] == pytest.approx(57.88, abs=0.01)
    shown = said("estimate", "--pps", "10M", "--burst", "4", "--nic", "ixgbe", "--lanes", "4")
    assert "would be, on ixgbe (Gen2 x4" in shown and "10.000" in shown


def test_more_than_the_link_carries_is_remarked_on():
    options = ("estimate", "--size", "1518", "--burst", "32", "--nic", "ixgbe", "--lanes", "1")
    shown = said(*options, "--pps", "1M")
    assert "of what the link carries: on it these rates cannot be reached, and the ceiling can" in shown
    assert "of what the link carries" not in said(*options, "--pps", "10k")


def test_the_command_of_a_run_and_its_options(tmp_path):
    execute(tmp_path / "run")
    made = json.loads(said("estimate", tmp_path / "run", "--nic", "i40e", "--rx-free", "64", "--lanes", "4", "--json"))
    assert [(p["nic"], p["link"]["lanes"], p["settings"]["rx_free"]) for p in made["ports"]] == [("i40e", 4, 64)] * 2


def test_nics_are_listed_with_their_sources():
    assert all(name in said("nics") for name in ("generic", "ixgbe", "mlx5"))
    assert "mlx5_prm.h" in said("nics", "mlx5")
    assert said("nics", "generic", "--toml").startswith("# The NIC of the VTune")


def test_the_sweep_is_a_page_and_never_overwrites(tmp_path):
    file = tmp_path / "sweep.html"
    assert said("estimate", "--sweep", "--out", file).strip() == str(file)
    html = file.read_text()
    plots = json.loads(html.split('id="_plots">')[1].split("</script>")[0])
    before, after = plots["_plot-1"]["data"][:2]
    assert (before["x"][-1], before["y"][-1]) == (10, 11.25) and (after["x"][0], after["y"][0]) == (13, 11.375)
    assert plots["_plot-1"]["data"][2]["y"][0] == pytest.approx(10.2917, abs=1e-4)
    assert plots["_plot-2"]["data"][1]["y"] == [0.5, 0.5] and "That is the fracture" in html
    assert "14.625 to 11.375 MB/s" in html
    with pytest.raises(UserError, match="exists already"):
        said("estimate", "--sweep", "--out", file)
    assert file.read_text() == html


def test_a_nic_that_rings_for_every_packet_has_no_fracture(tmp_path):
    every = text_of("generic").replace("doorbell_packets = { assumed = 0", "doorbell_packets = { assumed = 1")
    (tmp_path / "mine.toml").write_text(every)
    said("estimate", "--sweep", "--nic", tmp_path / "mine.toml", "--out", tmp_path / "sweep.html")
    html = (tmp_path / "sweep.html").read_text()
    assert "there is no fracture" in html and "falls from" not in html


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no traffic to estimate"),
        (("--pps", "1M", "--sweep"), "--pps has no effect with --sweep"),
        (("runs/x", "--sweep"), "RUN and --sweep exclude each other"),
        (("runs/x", "--pps", "1M"), "--pps has no effect with RUN"),
        (("--pps", "1M", "--out", "x"), "--out needs --sweep"),
        (("--pps", ""), '--pps: "" is not a rate'),
        (("--pps", "1M", "--size", ""), '--size: "" is not a size'),
        (("--pps", "1M", "--nic", ""), 'no NIC ""'),
        (("--pps", "1M", "--ring", "0"), "rx_ring has 0 descriptors"),
        (("runs/x", "--size", "64"), "--size has no effect with RUN"),
        (("runs/x", "--burst", "4"), "--burst has no effect with RUN"),
        (("--from-testpmd", "x", "--burst", "4"), "--burst has no effect with --from-testpmd"),
        (("--sweep", "--burst", "4"), "--burst has no effect with --sweep"),
        (("--sweep", "--json"), "--json has no effect with --sweep"),
        (("--sweep", "--measured", "x"), "--measured has no effect with --sweep, which has several rates"),
        (("--pps", "1M", "--measured-at", "1M=x"), "--measured-at needs --sweep"),
        (("--sweep", "--measured-at", "1M"), '--measured-at "1M": not RATE=FILE'),
        (("--sweep", "--measured-at", "20M=x"), "the sweep ends at 14.88 Mpps"),
        (("--sweep", "--measured-at", "fast=x"), '--measured-at: "fast" is not a rate'),
        (("--sweep", "--measured-at", "1M=/nonexistent/x"), "/nonexistent/x"),
        (("--sweep", "--out", "/nonexistent/x"), "/nonexistent is not a directory"),
        (("runs/none",), "not a run directory"),
        (("--pps", "1M", "--rx-free", "-1"), "rx_free is -1"),
        (("--pps", "1M", "--tx-rs", "2000"), "tx_rs is 2000, and the ring has 1024"),
        (("--pps", "1M", "--burst", "4", "--ring", "16"), "the ring has 16 descriptors"),
        (("--pps", "1M", "--size", "0"), '--size: "0" is not between 1B and 65535B'),
        (("--pps", "1M", "--nic", "none.toml"), "none.toml"),
    ],
)
def test_questions_that_are_refused(arguments, words):
    with pytest.raises(UserError) as error:
        said("estimate", *arguments)
    assert words in error.value.message and error.value.remedy
