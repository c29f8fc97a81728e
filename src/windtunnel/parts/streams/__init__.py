"""TCP streams: a workload writes and reads a connection in place of messages over UDP.

TCP is a library that sees IP packets and two buffers. `disp_rx` and `disp_tx` give it packets of `nic_rx` and take packets for `nic_tx`;
Windtunnel itself handles frames, ARP and hellos. No thread, socket or stage is added, and the four stages of a connection are on one worker.
A write is a message of the in-flight table, and its response is the acknowledgement of its last byte: load, latency and ledger are the usual
ones. Only the copy from application to send buffer can be offered to a copier, so this part uses `copies`: a piece is committed when its copy
has ended. smoltcp restarts an empty send buffer at its beginning, so `disp_rx` holds back an acknowledgement that would empty the buffer
while copies still run to the old position. What smoltcp does not count (retransmissions, time-outs, acknowledged bytes) is read from the
packets that pass.
"""
