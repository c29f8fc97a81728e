"""Sharing: many poll-mode tenants on few cores.

Slicers turn stock Linux' millisecond ticks into microsecond slices, pools say who gets how much of which core, a daemon keeps
it so and lets tenants ask for more; a simulator and a model answer for machines that are not here.
"""
