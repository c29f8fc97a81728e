"""Pools: `ls` has microsecond slices on cores of its own, `be` has the rest.

weights        the meaning of a weight, and how many CPUs weights need
placement      which CPU each thread of a tenant uses: stable, deterministic
plan           from weights to CPUs, pure: nothing here touches the machine
cgroups        where the host has its cgroups: v1, v2, both, none
shield         the cgroup that keeps other processes from the tenants' time, and caps
remove_groups  removes the cgroups of a shield after its process
apply          carries out an arrangement on the machine, or undoes it as a whole
"""
