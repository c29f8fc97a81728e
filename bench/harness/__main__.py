"""Every bench, one table. Run it as bench/all."""

import accounting
import instructions
import l2fwd
import pcap_echo
import six_stages
import startup

from harness.main import main

main(
    "All benches: figures beside their references and goals.",
    startup.measure,
    l2fwd.measure,
    pcap_echo.measure,
    six_stages.measure,
    accounting.measure,
    instructions.measure,
)
