"""Fleets: runs on the testbeds of a Ray cluster.

A testbed is a node of the cluster with a custom resource of its own. It executes one job at a time, with its own engine, and sends the
run directories back. What was running on one that is lost runs again on another.

keys       the fleet file
packed     run directories on their way back, and how one is taken exactly once
hosts      whether a testbed has the same software, and is like the others
messages   what the driver and a testbed tell each other
node       what runs on a testbed
cluster    the testbeds of a Ray cluster: who has joined, who is lost
cables     two testbeds as one, for runs with a side on each
executor   the executor of `windtunnel.measure` on them
opened     a fleet from what --on says
"""

from windtunnel.fleet.opened import opened

__all__ = ["opened"]
