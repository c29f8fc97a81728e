"""Fleets: runs on the testbeds of a Ray cluster.

A testbed is a node of the cluster with a custom resource of its own. It executes one job at a time, with its own engine, and sends the
run directories back. A job of a lost testbed runs again on another one.

keys       the fleet file
run_archive  archives of run directories, of which each run is taken exactly once
hosts      whether a testbed has the same software, and is like the others
messages   messages between the driver and a testbed
node       the actor on a testbed
cluster    the testbeds of a Ray cluster: which have joined, which are lost
cables     two testbeds as one, for runs with a side on each
executor   the executor of `windtunnel.measure` on them
opened     a fleet from the option --on
"""

from windtunnel.fleet.opened import opened

__all__ = ["opened"]
