"""How long the supervisor waits for an engine that builds tables."""

from types import SimpleNamespace

from sample_plan import make_plan

from windtunnel.engine import supervisor


def test_compiling_many_rules_extends_the_timeout():
    def plan(**table):
        tables = {"tables": [table, {"method": "hash", "rules": 10**7}]}
        pipeline = SimpleNamespace(model_dump=lambda: tables)
        return SimpleNamespace(workloads=[SimpleNamespace(pipeline=pipeline), SimpleNamespace(pipeline=None)])

    silence_s = supervisor.setup_silence_s
    assert silence_s(plan(method="tss", rules=10**6)) == silence_s(make_plan()) == supervisor.SETUP_SILENCE_S
    assert silence_s(plan(method="acl", rules=10**6)) >= supervisor.SETUP_SILENCE_S + 300
