"""Every bench, one table. Run it as bench/all."""

import accounting
import generator
import instructions
import l2fwd
import link
import lookups
import memif
import pcap_echo
import search
import six_stages
import startup
import steady_power
import swx
import trace_cost

from harness.main import main

main(
    "All benches: results with their references and goals.",
    startup.measure,
    l2fwd.measure,
    pcap_echo.measure,
    swx.measure,
    lookups.measure,
    six_stages.measure,
    accounting.measure,
    generator.measure,
    memif.measure,
    link.measure,
    trace_cost.measure,
    search.measure,
    steady_power.measure,
    instructions.measure,
)
