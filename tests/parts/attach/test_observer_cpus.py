"""The observer keeps off the CPUs of the data path, and takes them again at its end."""

import os

import pytest
from observed_samples import channel, window

from windtunnel.parts.attach.observer_cpus import kept_off_data_path


@pytest.mark.parametrize(("busy", "left"), [(1, {0, 2}), (7, {0, 1, 2})])
def test_it_leaves_the_cpu_of_a_thread(monkeypatch, busy, left):
    used = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cpus: used.append(cpus))
    line = window(0, [channel({32: 10})])
    line = line.model_copy(update={"threads": [line.threads[0].model_copy(update={"cpu": busy})]})
    with kept_off_data_path() as keep_off:
        keep_off(line)
        assert used == [left]
    assert used == [left, {0, 1, 2}]


def test_it_stays_if_it_may_use_no_other(monkeypatch):
    used = []
    line = window(0, [channel({32: 10})])
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {line.threads[0].cpu})
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cpus: used.append(cpus))
    with kept_off_data_path() as keep_off:
        keep_off(line)
    assert used == [{line.threads[0].cpu}]
