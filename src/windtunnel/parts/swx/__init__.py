"""P4 pipelines on DPDK's software switch (SWX): the packet handler `swx`.

The engine lets DPDK generate C from a spec, compiles it together with lines of its own (`engine/parts/swx/inside`) and keeps the object in
the user's cache. Those lines put the handler's ends in the place of DPDK's ports, and guard what a packet could break. A scenario's spec is
compiled when the scenario is checked: a mistake is reported at its line, and no window waits for a compiler.
"""
