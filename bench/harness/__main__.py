"""Every bench, one table. Run it as bench/all."""

import generator
import instructions
import l2fwd
import link
import lookups
import pcap_echo
import search
import six_stages
import startup
import steady_power
import swx

from harness.main import main

main(
    "All benches: results with their references and goals.",
    startup.measure,
    l2fwd.measure,
    pcap_echo.measure,
    swx.measure,
    lookups.measure,
    six_stages.measure,
    generator.measure,
    link.measure,
    search.measure,
    steady_power.measure,
    instructions.measure,
)
