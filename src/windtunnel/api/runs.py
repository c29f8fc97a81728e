"""Runs: scenarios that are resolved and executed here, and tables of what they measured."""

from windtunnel.engine.find import CHECKOUT, NAME, find_engine, is_checkout, runnable
from windtunnel.engine.verdict import INTERRUPTED
from windtunnel.measure.execute import execute, new_directory
from windtunnel.measure.study import sql
from windtunnel.measure.study.record import order, versions
from windtunnel.runs.summary import summarise
from windtunnel.scenario import here, load, resolve

__all__ = [
    "CHECKOUT",
    "INTERRUPTED",
    "NAME",
    "execute",
    "find_engine",
    "here",
    "is_checkout",
    "load",
    "new_directory",
    "order",
    "resolve",
    "runnable",
    "sql",
    "summarise",
    "versions",
]
