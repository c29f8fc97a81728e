"""Pools: `ls`, whose tenants turn in microseconds on cores of their own, and `be`, which has the rest.

weights         what a weight means, and how many CPUs weights need
placement       which CPU a lane of a tenant turns on: stable, deterministic
plan            from weights to CPUs, pure: nothing here touches the machine
entitlement     what each is entitled to, in nanoseconds
arrangement     a plan with the threads of this moment: who is where, with which weight
cgroups         where the host has its cgroups: v1, v2, both, none
shield          the cgroup that keeps neighbours off the tenants' time, and caps
carry           an arrangement carried out on the machine, or taken back whole
"""
