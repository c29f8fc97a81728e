"""Fleets: runs on the testbeds of a Ray cluster.

A testbed is a node of the cluster with a custom resource of its own. It executes one job at a time, with its own engine, and sends the
run directories back. A job of a lost testbed runs again on another one.

fleet_file   the fleet file
run_archive  archives of run directories, of which each run is taken exactly once; it does not know who sent one
hosts        whether a testbed has the same software, and is like the others
messages     messages between the driver and a testbed
node         the actor on a testbed: it places and executes a job there, and does not know the driver
connection   the connection to a Ray cluster
cluster      the testbeds of a Ray cluster: which have joined, which are lost; it does not know what a job is
cables       two testbeds as one, for runs with a side on each; without Ray
executor     the executor of `windtunnel.measure` on them: which job runs where, and what happens to that of a lost testbed; without Ray
utilisation  what a command announces of its testbeds

For the rooms: `on_option` opens a fleet for `cli`, `status` shows the testbeds on a page, `pages` has the reference of the fleet file.
"""
