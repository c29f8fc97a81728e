"""PCIe traffic of packets: equations, NICs as data, estimates for runs and for other tools' statistics.

batches           bursts, and both of their averages
link              a link: its generation, lanes and payload
nic               NICs as data, in nics/*.toml
estimate          the equations
port_estimate     a port, its queues and its link
run_estimate      the ports of a run
observed_estimate the ports of an application that was observed
testpmd_estimate  a log of testpmd
traffic_options   traffic that is named on the command line
sweep             the charts of the VTune recipe
measured          what hardware counters say: nothing else here is measured
facts, findings   the links of this host's NICs, and what `host doctor` says of them
port_rows         rows of tables, and the document of --json
document, charts  what is shown
pcie_command      the commands

Directions are those of the link: *up* from the device to the host, *down* to the device. *Inbound* transfers are requested by the device
(DMA), *outbound* ones by the CPU (registers).

For the rooms: `keys` has the NIC of an endpoint, `record` and `untrusted` what a run directory may say of it, `blocks` and `as_json` what is
shown of a run, `commands` the commands.
"""
