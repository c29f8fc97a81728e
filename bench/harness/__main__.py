"""Every bench, one table. Run it as bench/all."""

from importlib import import_module
from importlib.util import find_spec

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

from harness.main import main

OF_PARTS = [import_module(name).measure for name in ("swx",) if find_spec(name)]
"""Of parts that are there."""

main(
    "All benches: results with their references and goals.",
    startup.measure,
    l2fwd.measure,
    pcap_echo.measure,
    *OF_PARTS,
    lookups.measure,
    six_stages.measure,
    generator.measure,
    link.measure,
    search.measure,
    steady_power.measure,
    instructions.measure,
)
