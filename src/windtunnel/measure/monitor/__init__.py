"""The monitor: tools of the host that count while something runs, and whose texts are kept. `run --monitor` and `windtunnel monitor` start it.

tools       which tools a metric has, how each is called, and what a host must have for it
snapshots   what is read at the begin and at the end instead: files of the kernel, and counters of NICs
guard       a program of its own between us and a tool, which ends with us and takes the tool along
guarded     a tool below its guard, for this process
monitor     the order of all that, and monitor.jsonl

Tools that count in hardware take turns, as in Axio's monitor: two tools of PCM at a time are not supported (intel/pcm, issues 250 and 860),
and one that programs a counter spoils it for another one.
"""
