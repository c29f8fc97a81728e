"""The tenant that measures itself: its ledger, its refusals, its early end."""

import json
import os
import subprocess

import pytest
from pydantic import ValidationError

from windtunnel.errors import UserError
from windtunnel_sharing.native import SLICER, TENANT, find_native
from windtunnel_sharing.tenant import Phase, Tenant, TenantPlan

pytestmark = pytest.mark.slow
SHORT = {"duration_ns": 200_000_000, "window_ns": 50_000_000}


def finished(**plan):
    with Tenant(TenantPlan(**(SHORT | plan))) as tenant:
        return tenant.result()


def test_windows_sum_up_to_the_result():
    windows, result = finished(phases=[Phase(rate=20_000)])
    assert len(windows) >= 2
    for name in ("offered", "served", "lost", "polls", "empty_polls", "own_ns"):
        assert sum(getattr(window, name) for window in windows) == getattr(result, name)
    assert result.latency.total == result.wait.total == result.served > 0
    assert result.latency.min >= 2500 and result.served_ns >= result.served * 2500
    assert [window.end_ns for window in windows[:-1]] == [window.begin_ns for window in windows[1:]]


def test_every_request_is_served_lost_or_waits():
    _, result = finished(phases=[Phase(rate=1e6, arrivals="constant")], queue=16)
    assert result.lost > 0
    assert 0 <= result.offered - result.served - result.lost <= 16


def test_even_arrivals_are_as_many_as_the_phases_say():
    _, result = finished(
        phases=[Phase(rate=10_000, for_ns=100_000_000, arrivals="constant"), Phase(rate=0)], queue=100_000
    )
    assert result.served == 1000


def test_a_sleeping_tenant_polls_less():
    _, polling = finished(phases=[Phase(rate=100)])
    _, sleeping = finished(when_empty="sleep", phases=[Phase(rate=100)])
    assert polling.sleeps == 0
    assert 0 < sleeping.sleeps <= sleeping.empty_polls and sleeping.polls < polling.polls


def test_it_ends_when_its_input_does():
    with Tenant(TenantPlan(duration_ns=3_600_000_000_000)) as tenant:
        tenant.stop()
        _, result = tenant.result()
        assert result.type == "result"


def test_a_killed_tenant_has_no_result():
    with Tenant(TenantPlan(duration_ns=3_600_000_000_000)) as tenant:
        os.kill(tenant.pid, 9)
        with pytest.raises(UserError, match="without a result"):
            tenant.result()


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"phases": []}, "phases"),
        ({"phases": [{"rate": -1}]}, "rate"),
        ({"queue": 0}, "queue"),
        ({"duration_ns": 0}, "duration_ns"),
        ({"cpu": 4095}, "CPU 4095"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_words(plan, words):
    with pytest.raises(UserError, match=words):
        Tenant(TenantPlan(**plan))


def test_an_unknown_key_is_refused():
    with pytest.raises(ValidationError):
        TenantPlan(rate=5)


@pytest.mark.parametrize("name", [SLICER, TENANT])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "{\n",
        "[]\n",
        '{"mechanism": "kick"}\n',
        "\xff\xfe\n",
        '{"a": ' * 500 + "\n",
        pytest.param("x" * (2 << 20), id="2 MiB"),
    ],
)
def test_what_is_no_plan_is_refused(name, text):
    done = subprocess.run([find_native(name)], check=False, input=text.encode("latin-1"), stdout=subprocess.PIPE)
    if name == SLICER and not text:
        assert done.returncode == 0 and not done.stdout  # its parent was gone before it said anything
        return
    assert done.returncode == 2
    assert json.loads(done.stdout)["type"] == "error"
