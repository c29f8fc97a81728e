"""CPUs of running engines' workers, as /proc shows them."""

import os

from windtunnel.host.engines import workers_cpus


def thread(root, process, program, number, name, cpus):
    task = root / str(process) / "task" / str(number)
    task.mkdir(parents=True)
    (root / str(process) / "comm").write_text(f"{program}\n")
    (task / "comm").write_text(f"{name}\n")
    (task / "status").write_text(f"Name:\t{name}\nCpus_allowed:\tff\nCpus_allowed_list:\t{cpus}\n")


def test_workers_of_engines_have_their_cpus(tmp_path):
    thread(tmp_path, 10, "windtunnel-engi", 10, "windtunnel-engi", "0-7")
    thread(tmp_path, 10, "windtunnel-engi", 11, "rte-worker-1", "3")
    thread(tmp_path, 20, "windtunnel-engi", 21, "dpdk-worker1", "5")
    thread(tmp_path, 30, "dpdk-testpmd", 31, "rte-worker-1", "6")
    assert workers_cpus(tmp_path) == {3, 5}


def test_an_engine_that_has_ended_has_none(tmp_path):
    (tmp_path / "10").mkdir()
    (tmp_path / "10" / "comm").write_text("windtunnel-engi\n")
    (tmp_path / "10" / "task" / "11").mkdir(parents=True)
    assert workers_cpus(tmp_path) == set()


def test_of_this_machine_they_are_cpus_of_it():
    assert workers_cpus() <= set(range(os.cpu_count() or 1))
