"""Runs: scenarios that are resolved and executed here, and tables of what they measured."""

from typing import TYPE_CHECKING

from windtunnel.api.lazy import loader_of

if TYPE_CHECKING:
    from windtunnel.engine.find import CHECKOUT as CHECKOUT
    from windtunnel.engine.find import NAME as NAME
    from windtunnel.engine.find import check_beside as check_beside
    from windtunnel.engine.find import find_engine as find_engine
    from windtunnel.engine.find import first_place as first_place
    from windtunnel.engine.find import is_checkout as is_checkout
    from windtunnel.engine.find import runnable as runnable
    from windtunnel.engine.verdict import INTERRUPTED as INTERRUPTED
    from windtunnel.measure.execute import execute as execute
    from windtunnel.measure.execute import new_directory as new_directory
    from windtunnel.measure.study import sql as sql
    from windtunnel.measure.study.record import order as order
    from windtunnel.measure.study.record import versions as versions
    from windtunnel.runs.summary import summarise as summarise
    from windtunnel.scenario import here as here
    from windtunnel.scenario import load as load
    from windtunnel.scenario import resolve as resolve

__getattr__ = loader_of(__name__)
