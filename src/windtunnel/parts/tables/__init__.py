"""Match-action tables, as T4P4S has them: the packet handler `match_action` passes each packet through exact, prefix and ternary tables.

A scenario's `[[workload.table]]` becomes a pipeline of the plan. The engine builds the tables on DPDK's structures (`engine/parts/tables/library`), from
rules that it generates or that a file names, and the side that makes the traffic draws keys that hit as the scenario says. Each packet says which
rule its key hits, so that every lookup is checked.
"""
