"""Validity of a run: `validate` checks its windows, and excludes those that may not count.

excluded_windows   windows with preemption, steal, a stopped process, a slower clock or no link
preempting         which programs ran on the workers' CPUs
host_states        the places of the workers' CPUs: metrics are of one state of the host
loads              windows that had the same load: all, or those of each phase
settled            whether a run settled on one level, and whether it should go on until it does
worker_time        the parts of a worker's time, without what reading the clock adds
call_cost          what a call costs, and what a packet, if calls moved different numbers of them
slack              how much slack each worker has, and which one has least
generator          a client too slow for its rate, as opposed to a data plane too slow for its load
clocks             the TSC against the kernel's clock, and the cost of time stamps against what they measure
accounting         time in calls that are longer than the interruption threshold
"""

from windtunnel.measure.validity.call_cost import CallCost, call_cost
from windtunnel.measure.validity.host_states import readings_of
from windtunnel.measure.validity.preempting import Preempting
from windtunnel.measure.validity.settled import Extension
from windtunnel.measure.validity.slack import Slack, budget_is_reached, full_batch, slacks, slowest
from windtunnel.measure.validity.validate import validate
from windtunnel.measure.validity.worker_time import Parts, clock_ticks, parts_of, timed_worker

__all__ = [
    "CallCost",
    "Extension",
    "Parts",
    "Preempting",
    "Slack",
    "budget_is_reached",
    "call_cost",
    "clock_ticks",
    "full_batch",
    "parts_of",
    "readings_of",
    "slacks",
    "slowest",
    "timed_worker",
    "validate",
]
