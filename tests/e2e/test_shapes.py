"""Every way to lay stages on workers runs with closed ledgers."""

import os

import pytest
from real_runs import L_APP, SIDES, messages, run_well, scenario, stages

CLIENT_LOOP = ["nic_rx:0", "disp_rx:0", "app_rx:0", "app_tx:0", "disp_tx:0", "nic_tx:0"]
SERVER_LOOP = ["nic_rx:0", "disp_rx:0", "app_rx:0", "disp_tx:0", "nic_tx:0"]


def cpus() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def by_hand(client: list[list[str]], server: list[list[str]]) -> dict:
    """Workers by hand, on the CPUs in turn."""
    loops = {"client": client, "server": server}
    return {
        side: {"worker": [{"core": cpus()[n % len(cpus())], "stages": loop} for n, loop in enumerate(loops[side])]}
        for side in SIDES
    }


def test_all_stages_on_one_worker(tmp_path):
    run = run_well(tmp_path, scenario(**by_hand([CLIENT_LOOP], [SERVER_LOOP])))
    [worker] = run.record.engines[0].plan.workers
    assert len(worker.stages) == len(CLIENT_LOOP + SERVER_LOOP)
    assert messages(run).responses > 0


def test_a_run_with_one_allowed_cpu(tmp_path):
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpus()[-1]})
    try:
        run = run_well(tmp_path, scenario(L_APP | {"colocate": False}))
    finally:
        os.sched_setaffinity(0, allowed)
    assert {worker.cpu for worker in run.record.engines[0].plan.workers} == {max(allowed)}
    assert messages(run).responses > 0


def test_stages_of_one_dispatcher_on_two_workers(tmp_path):
    """Each hand-over inside the dispatcher crosses from one worker to the other."""
    client = [["nic_rx:0", "app_rx:0", "disp_tx:0"], ["disp_rx:0", "app_tx:0", "nic_tx:0"]]
    server = [["nic_rx:0", "app_rx:0", "nic_tx:0"], ["disp_rx:0", "disp_tx:0"]]
    assert messages(run_well(tmp_path, scenario(**by_hand(client, server)))).responses > 0


@pytest.mark.parametrize(("apps", "dispatchers"), [(3, 1), (1, 2), (2, 2), (3, 2), (2, 3)])
@pytest.mark.parametrize("colocate", [True, False])
def test_applications_and_dispatchers(tmp_path, apps, dispatchers, colocate):
    run = run_well(tmp_path, scenario(L_APP | {"apps": apps, "dispatchers": dispatchers, "colocate": colocate}))
    assert messages(run).responses > 0
    for side in SIDES:
        assert {entry.index for entry in stages(run, side, "app_rx") if entry.objects} == set(range(apps))
        assert {entry.index for entry in stages(run, side, "nic_tx") if entry.objects} == set(range(dispatchers))


def test_groups_have_as_many_applications_as_they_say(tmp_path):
    """What comes to a dispatcher goes to its own applications: three take turns on the first, and one has the second for itself."""
    run = run_well(tmp_path, scenario(L_APP | {"apps": 4, "dispatchers": 2, "groups": [3, 1], "timeout": "1min"}))
    for side in SIDES:
        moved = {
            (stage, entry.index): sum(e.objects for e in stages(run, side, stage) if e.index == entry.index)
            for stage in ("disp_rx", "app_rx")
            for entry in stages(run, side, stage)
        }
        assert all(moved.values()), (side, moved)
        assert sum(moved["app_rx", app] for app in range(3)) == moved["disp_rx", 0]
        assert moved["app_rx", 3] == moved["disp_rx", 1]


def test_more_applications_on_the_client(tmp_path):
    run = run_well(tmp_path, scenario(L_APP | {"client": {"apps": 3}, "dispatchers": 2}))
    assert {entry.index for entry in stages(run, "client", "app_rx") if entry.objects} == {0, 1, 2}
    assert {entry.index for entry in stages(run, "server", "app_rx") if entry.objects} == {0}


def test_workloads_with_handlers_and_queues_of_their_own(tmp_path):
    large = {"handler": "t_app", "request": "3KiB", "response": 22, "dispatchers": 2, "share": 3}
    packets = {"packet_handler": "echo", "request": 60}
    ledgers = run_well(tmp_path, scenario(L_APP, large, packets)).record.engines[0].result.messages
    assert [ledger.workload for ledger in ledgers if ledger.responses > 0] == [0, 1, 2]


def test_a_client_without_responses(tmp_path):
    """Every message is lost after its timeout, and its place in flight comes back."""
    keys = {"wire": {"kind": "null"}, "client": {"rate": "40kpps", "inflight": 1024}, "drain": "100ms"}
    ledger = messages(run_well(tmp_path, scenario(L_APP | {"timeout": "5ms"}, **keys)))
    assert ledger.responses == ledger.in_flight == 0
    assert ledger.lost > 1024
