"""Texts of ethtool, perf stat and pcm-pcie in the forms that users have them: what the diagnosis reads, or why it does not."""

import pytest
from diagnosed_runs import made
from from_the_world import FILES

from windtunnel.errors import UserError
from windtunnel.exchange.recorded import pcm_pcie
from windtunnel.exchange.source import MOST_LINE
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.recorded import read_evidence

CODES = {"shared-cache", "nic-writes", "pcie-link", "pause-frames"}
OF_LOADS = "20% of loads that reach the last-level cache miss it (perf stat)"


def diagnosed(*files):
    known = diagnose(made(), recorded=read_evidence(files))
    return {cause.code: cause for cause in known.causes if cause.code in CODES}, known.not_measured


@pytest.fixture
def of_text(tmp_path):
    def of(text):
        (tmp_path / "text").write_bytes(text if isinstance(text, bytes) else text.encode())
        return diagnosed(tmp_path / "text")

    return of


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("eth-ixgbe.txt", {"pause-frames": "rx_flow_control_xoff 4,000 (ethtool -S)"}),
        ("eth-i40e.txt", {"pause-frames": "port.link_xoff_rx 4,000 (ethtool -S)"}),
        ("eth-ice.txt", {"pause-frames": "rx_priority_3_xoff.nic 4,000 (ethtool -S)"}),
        ("eth-bnxt.txt", {"pause-frames": "rx_pfc_frames 4,000 (ethtool -S)"}),
        ("eth-mlx5.txt", {"pause-frames": "rx_global_pause 4,000 (ethtool -S)"}),
        ("be2net-gauge.txt", {"pause-frames": "rx_pause_frames 4,000 (ethtool -S)"}),
        ("perf-gap.csv", {"shared-cache": OF_LOADS}),
        ("perf-r3.csv", {"shared-cache": OF_LOADS}),
        ("perf-rawevent.csv", {"shared-cache": OF_LOADS}),
        ("pcm-B.csv", {"pcie-link": "devices read 5.1 Gbit/s and wrote 10.2 Gbit/s (pcm-pcie)"}),
        ("pcm-e.csv", {"nic-writes": "25% of the lines that devices wrote"}),
        (
            "pcm-eB.csv",
            {
                "pcie-link": "devices read 5.1 Gbit/s and wrote 10.2 Gbit/s (pcm-pcie)",
                "nic-writes": "25% of the lines that devices wrote",
            },
        ),
        ("iostat-ok.txt", {"pcie-link": "devices read 5.1 Gbit/s and wrote 10.2 Gbit/s (perf iostat)"}),
        ("iostat-de.txt", {"pcie-link": "devices read 5.1 Gbit/s and wrote 10.2 Gbit/s (perf iostat)"}),
    ],
)
def test_files_of_users(name, evidence):
    causes, _ = diagnosed(FILES / name)
    assert causes.keys() == evidence.keys()
    for code, words in evidence.items():
        assert causes[code].evidence.startswith(words)


@pytest.mark.parametrize(
    ("received", "sent", "others"),
    [
        ("rx_flow_control_xoff", "tx_flow_control_xoff", "rx_flow_control_xon"),  # e1000, e1000e, igb, igc, ixgbe
        ("rx_pb_3_pxoff", "tx_pb_3_pxoff", "rx_pb_3_pxon"),  # ixgbe
        ("port.rx_priority_3_xoff_rx", "port.tx_priority_3_xoff_tx", "port.rx_priority_3_xon_2_xoff"),  # i40e
        ("link_xoff_rx.nic", "link_xoff_tx.nic", "link_xon_rx.nic"),  # ice
        ("rx_pfc_ena_frames_pri3", "tx_pfc_ena_frames_pri3", "pfc_pri3_rx_duration_us"),  # bnxt
        ("rx_pause", "tx_pause", "rx_pause_duration"),  # mlx4
        ("rx_pause_prio_3", "tx_pause_prio_3", "rx_pause_transition_prio_3"),  # mlx4
        ("rx_prio3_pause", "tx_prio3_pause", "rx_prio3_pause_transition"),  # mlx5
        ("rx_pause_ctrl_phy", "tx_pause_ctrl_phy", "tx_pause_storm_warning_events"),  # mlx5
        ("rx_priority_pause_frames", "tx_priority_pauseframes", "rx_control_frames"),  # be2net
        ("port_rx_pause", "port_tx_pause", "port_rx_control"),  # sfc
        ("rx_pause_frames        ", "tx_pause_frames        ", "rx_frames_ok           "),  # cxgb4 fills names up
        ("rx_ppp3_frames         ", "tx_ppp3_frames         ", "rx_bg0_frames_dropped  "),
        ("pfc_frames_received", "pfc_frames_sent", "rx_constant_pause_events"),  # bnx2x
        ("rx_xoff_frames", "tx_xoff_frames", "rx_xon_frames"),  # bnx2
        ("rx_xoff_pause_rcvd", "tx_xoff_sent", "rx_xoff_entered"),  # tg3
        ("mac_rx_pfc_pri3_pause_num", "mac_tx_pfc_pri3_pause_num", "mac_rx_pfc_pri3_xoff_time"),  # hns3
        ("mac.rx_pause_frames_class3", "mac.tx_pause_frames_class3", "mac.rx_pause_transitions"),  # nfp
        ("frames_rx_pripause", "frames_tx_pripause", "rx_pripause_3_1us_count"),  # ionic
        ("hc_tc3_rx_pause_phy", "hc_tc3_tx_pause_phy", "hc_tc3_rx_byte_phy"),  # mana
        ("mmc_rx_pause_frames", "mmc_tx_pause_frame", "mmc_rx_unicast_g"),  # stmmac
        ("good_fc_received", "fc_sent", "bad_fc_received"),  # mvneta, mv643xx_eth
        ("cgx_rxstat2: ", "cgx_txstat17: ", "cgx_rxstat3: "),  # octeontx2 ends names in a colon
        ("mac_rx_pause_cnt", "mac_tx_pause_cnt", "mac_rx_ctrl_pkt"),  # qlcnic
        ("rmac_pause_ctrl_frms", "tmac_pause_ctrl_frms", "rmac_unsup_ctrl_frms"),  # s2io
        ("MAC rx valid pause frames", "MAC tx valid pause frames", "MAC rx valid frames"),  # enetc
        ("IEEE_rx_fdxfc", "IEEE_tx_fdxfc", "IEEE_rx_frame_ok"),  # fec
        ("rx_flow_control_packets", "tx_pause_pkts", "rx_checksum_errors"),  # mtk_eth_soc, bgmac
        ("RX Pause Frames", "Pause Tx Frames", "RX Control Frames"),  # lan743x, cpsw
        ("rx_new_pause_count", "tx_new_pause_count", "rx_new_pause_quanta"),  # a driver that nobody knows
    ],
)
def test_each_drivers_pause_frames(of_text, received, sent, others):
    """4,000 between two texts, received and sent; the other counter rises too, and is no pause frame."""
    for name, remedy in ((received, "peer"), (sent, "this host")):
        text = "NIC statistics:\n     rx_packets: {}\n     " + name + ": {}\n     " + others + ": {}\n"
        causes, _ = of_text(text.format(100, 5, 5) + text.format(900, 4005, 999))
        assert causes["pause-frames"].evidence == f"{name.rstrip(': ')} 4,000 (ethtool -S)"
        assert remedy in causes["pause-frames"].remedy and causes["pause-frames"].against == []


@pytest.mark.parametrize(
    "names",
    [
        ("rx_queue_0_packets", "rx_queue_0_kicks"),  # virtio_net
        ("Tx Queue#: ", "  pkts linearized"),  # vmxnet3
        ("queue_0_tx_cnt", "suspend"),  # ena
        ("rx_posted_desc[0]", "tx_timeouts"),  # gve
        ("tx_frames_ok", "rx_no_bufs"),  # enic
        ("InPackets", "InErrors"),  # atlantic
        ("tx_packets", "tx_underrun"),  # r8169
        ("rx_packets", "rx_flow_control_xon"),  # igb, were it without xoff
    ],
)
def test_a_driver_without_such_a_counter_is_said(of_text, names):
    text = "NIC statistics:\n" + "".join(f"     {name}: 7\n" for name in names)
    causes, not_measured = of_text(text)
    assert "pause-frames" not in causes
    assert "pause-frames: no counter of pause frames in this text of ethtool -S" in not_measured


def test_the_kernels_own_names_of_pause_frames(of_text):
    text = "Pause parameters for eth0:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\ton\nStatistics:\n  tx_pause_frames: {}\n  rx_pause_frames: {}\n"
    causes, _ = of_text(text.format(0, 5) + "\n" + text.format(0, 4005))
    assert causes["pause-frames"].evidence == "rx_pause_frames 4,000 (ethtool -S)"


def test_words_between_two_texts_are_no_counters(of_text):
    text = "$ ethtool -S eth0\nNIC statistics:\n     rx_packets: {}\n     rx_pause_frames: {}\nSat Nov 28 10:11:12 UTC 2026\n"
    causes, _ = of_text(text.format(1, 5) + text.format(9, 4005))
    assert causes["pause-frames"].evidence == "rx_pause_frames 4,000 (ethtool -S)"


def test_a_gauge_that_falls_on_an_idle_port_is_no_restart(of_text):
    text = "NIC statistics:\n     rx_packets: 100\n     rx_pause_frames: 5\n     be_on_die_temperature: {}\n"
    causes, _ = of_text(text.format(54) + text.format(53))
    assert "pause-frames" not in causes


def test_a_counter_that_fell_while_traffic_rose_is_not_read_as_none(of_text):
    text = "NIC statistics:\n     rx_packets: {}\n     rx_pause_frames: {}\n"
    _, not_measured = of_text(text.format(100, 4005) + text.format(900, 5))
    (line,) = (line for line in not_measured if line.startswith("pause-frames"))
    assert "rx_pause_frames: it fell from 4005 to 5" in line


def csv(*rows):
    return "".join(f"{row}\n" for row in rows)


def table(*rows):
    return f" Performance counter stats for 'system wide':\n\n{csv(*rows)}\n       1.001234567 seconds time elapsed\n\n"


def both(form):
    """A row for 1,000,000 loads and one for 200,000 misses."""
    return csv(form.format("1000000", "LLC-loads"), form.format("200000", "LLC-load-misses"))


LOCALES = {"C": "1000000 200000", "en": "1,000,000 200,000", "de": "1.000.000 200.000", "ch": "1'000'000 200'000"} | {
    "fr": "1\u202f000\u202f000 200\u202f000",
    "cs": "1\u00a0000\u00a0000 200\u00a0000",
    "de_CH": "1\u2019000\u2019000 200\u2019000",
    "in": "10,00,000 2,00,000",
}


@pytest.mark.parametrize("loads", LOCALES.values(), ids=LOCALES)
def test_the_table_of_perf_in_each_locale(of_text, loads):
    loads, misses = loads.split(" ")
    mark = "," if "." in loads else "."
    text = table(
        f"         {loads}      LLC-loads                 #   12{mark}345 M/sec                    (50{mark}00%)",
        f"         {misses}      LLC-load-misses           #   20{mark}00% of all LL-cache accesses  (50{mark}00%)",
        f"              0{mark}99 msec task-clock                #    0{mark}328 CPUs utilized",
        "   <not supported>      cycles",
    )
    causes, _ = of_text(text)
    assert causes["shared-cache"].evidence.startswith(OF_LOADS)


SUMMARY = both("         summary,{},,{},900,100.00,,")
JSON = '"counter-value" : "{}.000000", "unit" : "", "event" : "{}", "event-runtime" : 900, "pcnt-running" : 100.00'


@pytest.mark.parametrize(
    "text",
    [
        both("{},,{},900,100.00,,"),
        both("{},,{}:u,900,100.00,,"),
        both("     1.000123680,{},,{},900,100.00,,"),
        both("     1.000123680,{},,{},900,100.00,,") + SUMMARY,  # -I --summary
        both("     1.000123680,{},,{},900,100.00,,") + both("{},,{},900,100.00,,"),  # --no-csv-summary
        both("     1.000123680,CPU3,{},,{},900,100.00,,"),  # -I -A
        both("S0-D0-C0,1,{},,{},900,100.00,,"),  # --per-core
        both("S0-D0-C0,{},,{},900,100.00,,"),  # events that are of a core
        both("S0-D0-L3-ID0,16,{},,{},900,100.00,,"),  # --per-cache
        both("S0-D0-CLS0,4,{},,{},900,100.00,,"),  # --per-cluster
        both("S1,20,{},,{},900,100.00,,") + both("N1,20,{},,{},900,100.00,,"),
        both("dpdk-worker1-4711,{},,{},900,100.00,,"),  # --per-thread
        both("{},,{},/machine.slice,900,100.00,,"),  # -G
        both("{},,{},/machine.slice,0.40%,900,100.00,,"),  # -G -r
        both("{},,{},5.13%,900,100.00,,"),  # -r
        both("{};;{};900;100,00;;"),  # -x\; in a locale with a decimal comma
        both("{}|| {}|900|100.00||"),
        both("{}\t\t{}\t900\t100.00\t\t"),
        both("{}::{}:900:100.00::"),
        both("{},,cpu_core/{}/,900,100.00,,") + both("0,,cpu_atom/{1}/,900,100.00,,"),  # a hybrid processor
        both("{},,cpu_core/{}/,900,100.00,,") + both("<not counted>,,cpu_atom/{1}/,0,0.00,,"),
        both("{},,{} [cpu_core],900,100.00,,"),
        both("{},,cpu/{}/u,900,100.00,,"),
        both("{},,{},900,100.00,,") + "1000000,,LLC-loads,900,100.00,,\n",  # in two groups of events
        both("{},,{},900,100.00,,") + ",,,,,0.25,insn per cycle\n",
        "Control descriptor is not initialized\nLLC-loads: 1000000 900 900\n" + both("{},,{},900,100.00,,"),  # -v
        both("{},,{},900,100.00,0.5,M/sec").replace("\n", "\r\n"),
        both("{},,{},900,100.00,,").encode("utf-16"),
        "\ufeff" + both("{},,{},900,100.00,,"),
        "# started on Sat Nov 28 10:00:00 2026\n\n" + both("{},,{},900,100.00,,"),
        both("{{" + JSON + "}}"),
        both('{{"interval" : 1.000123680, ' + JSON + "}}") + both("{{" + JSON + "}}"),  # -j -I --summary
        both('{{"core" : "S0-D0-C0", "aggregate-number" : 1, ' + JSON + "}}"),
        both('{{"cpu" : "3", ' + JSON + ', "metric-value" : 0.000000, "metric-unit" : "(null)"}}'),
        both("{{" + JSON + "}}") + '{"metric-value" : "0.25", "metric-unit" : "insn per cycle"}\n',
        both("{{" + JSON.replace(".000000", ",000000").replace("100.00", "100,00") + "}}"),  # a decimal comma
        both("{{" + JSON.replace('"{}", "event-r', '"cpu_core/{}/", "event-r') + "}}"),
        table(*both("S0-D0-C0           1          {}      {}").splitlines()),
        table(*both("CPU0          {}      {}").splitlines()),
        table(*both("   dpdk-worker1-4711          {}      {}      ( +-  0.40% )  (75.00%)").splitlines()),
        table(*both("          {}      {}      /machine.slice").splitlines()),
        table(*both("          {}      cpu_core/{}/").splitlines()),
        table(*both("          {}      {}").splitlines()).replace(
            "1.001234567 seconds", "1.0012 +- 0.0008 seconds"
        ),
        "#           time             counts unit events\n" + both("     1.000123680      {}      {}") + table(*both("  {}   {}").splitlines()),
    ],
)  # fmt: skip
def test_each_form_of_perf_stat(of_text, text):
    causes, _ = of_text(text)
    assert causes["shared-cache"].evidence.startswith(OF_LOADS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (both("{},,{},900,100,00,,"), "has a decimal comma"),
        (both("     1,000123680,{},,{},900,100,00,,"), "has a decimal comma"),
        (both("{},,{},900,1x0.00,,"), "are not a count, a time in ns and a percentage"),
        (table("   1.00.000      LLC-loads"), "are not a count"),
        (table("   12,3x      LLC-loads", "  5   cycles"), "is no row of perf stat"),
        ("Skt |  PCIRdCur  |  ItoM  \n 0      10 M     20 M  \n", "its numbers are rounded"),
        ("Date,Time,Mem Read (MB/s),Mem Write (MB/s)\n2026-11-28,10:00:00,1,2\n", "without its head of two lines"),
        ("|--     Memory Channel Monitoring     --|\n", "the table of pcm-memory for people"),
        ("Socket;Name;Part;IB write\nSocket0;IIO Stack 0;Part0;1\n", "that commas do not separate"),
        ("Pause parameters for eth0:\nAutonegotiate:\toff\n", "without their counts"),
        ("insn per cycle,\n0.25,\n", "no text of a tool that is known"),
    ],
)
def test_what_is_not_understood_is_refused(of_text, text, words):
    with pytest.raises(UserError) as refused:
        of_text(text)
    assert words in refused.value.message and (refused.value.remedy or "->" in refused.value.message)


def test_the_typographic_character_of_a_line_is_named(of_text):
    with pytest.raises(UserError, match="column 7: – is a typographic dash"):
        of_text(both("{},,{},900,100.00,,") + "5,,LLC\u2013loads x\n".replace("x", "\u2013"))


OLD = "Skt,PCIeRdCur,PCIeNSRd,PCIeWiLF,PCIeItoM,PCIeNSWr,PCIeNSWrF"


def test_writes_of_older_processors(of_text):
    rows = "0,9,0,10,60,20,10(Total)", "0,1,0,5,10,5,5(Miss)", "0,8,0,5,50,15,5(Hit)"
    causes, _ = of_text(csv(OLD, *rows))
    assert causes["nic-writes"].evidence.startswith("25% of the lines")


@pytest.mark.parametrize(
    ("loads", "misses", "share"),
    [
        ({"": 1000}, {":u": 50, ":k": 90}, "14%"),
        ({":u": 1000, ":k": 9000}, {"": 500}, "5%"),
        ({":u": 1000, ":k": 9000}, {":u": 500, ":k": 1500}, "20%"),
        ({":u": 1000}, {":u": 500, "": 1500}, None),
    ],
)
def test_parts_of_an_event_are_no_rows_of_it(of_text, loads, misses, share):
    counts = {"LLC-loads": loads, "LLC-load-misses": misses}
    rows = (f"{n},,{name}{part},900,100.00,," for name, parts in counts.items() for part, n in parts.items())
    causes, not_measured = of_text(csv(*rows))
    if share:
        assert causes["shared-cache"].evidence.startswith(f"{share} of loads ")
    else:
        assert any("LLC-loads: without the kernel's part" in line for line in not_measured)


def test_counts_of_other_times_are_not_compared(of_text):
    causes, not_measured = of_text("     1.000000000,100,,LLC-loads,9,100.00,,\n50,,LLC-load-misses,9,100.00,,\n")
    assert "shared-cache" not in causes
    assert any("LLC-loads with LLC-load-misses" in line and "of the same times" in line for line in not_measured)


def test_a_line_of_no_tool_is_too_long_before_it_is_cut(tmp_path, monkeypatch):
    """A table may have no million columns."""
    monkeypatch.setattr(pcm_pcie, "cells_of", lambda line: pytest.fail("it was cut"))
    (tmp_path / "pcm.csv").write_text("Skt,PCIe Rd (B),PCIe Wr (B)" + ",ItoM" * MOST_LINE + "\n")
    with pytest.raises(UserError, match="longer than 65,536 characters"):
        read_evidence([tmp_path / "pcm.csv"])
