"""Studies for tests of models: directories as `windtunnel study` leaves them, whose costs follow a law that the test knows."""

import hashlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import to_jsonable_python

from windtunnel.host import facts
from windtunnel.host.ladder import Ladder, Rung, levels_of
from windtunnel.measure.study import directory, record
from windtunnel.measure.study.columns import COLUMNS
from windtunnel.measure.study.record import FactorRecord, LevelRecord, PointRecord, StudyRecord, TextFile

ENTRIES = "workload.0.table.0.entries"
HERE = to_jsonable_python(facts.collect())
SIZES = [float(n) for n in np.unique(np.round(np.geomspace(100, 1e7, 11)))]


def ladder_ns(bytes_: np.ndarray) -> np.ndarray:
    """A host with steps at 32 KiB, 2 MiB and 24 MiB."""
    steps = ((32 << 10, 3.0), (2 << 20, 20.0), (24 << 20, 70.0))
    return 1.2 + sum(cost * bytes_**4 / (bytes_**4 + float(step) ** 4) for step, cost in steps)


def a_ladder(**changes: Any) -> Ladder:
    sizes = np.unique(np.geomspace(4096, 256 << 20, 65).astype(int))
    rungs = [
        Rung(bytes=int(b), ns=float(ns), most_ns=float(ns) * 1.1)
        for b, ns in zip(sizes, ladder_ns(sizes * 1.0), strict=True)
    ]
    known = {
        "measured": datetime(2026, 11, 22, 12, tzinfo=UTC),
        "pages": "huge",
        "huge_bytes": 256 << 20,
        "cpu": 0,
        "tsc_hz": 2_000_000_000,
        "rounds": 3,
        "rungs": rungs,
        "levels": levels_of(rungs),
        "reported": [],
        "host": HERE,
    }
    return Ladder(**(known | changes))


def a_study(
    path: Path,
    law: Callable[[dict[str, Any]], float],
    factors: dict[str, list[Any]],
    *,
    noise: float = 0.01,
    repeats: int = 3,
    column: str = "server_disp_rx_work_ns",
    cells: Callable[[dict[str, Any], float], dict[str, Any]] | None = None,
    host: dict[str, Any] | None = None,
    seed: int = 1,
) -> Path:
    """`factors`: path -> cells. `law`: path -> cell of a point, to what `column` has there; or `cells`, all columns of a run
    from the point and its own noise factor."""
    path.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    points = list(_product(factors))
    rows = []
    for number, point in enumerate(points, start=1):
        for repeat in range(1, repeats + 1):
            own = float(np.exp(rng.normal(0, noise))) if noise else 1.0
            rows.append(_row(number, repeat, point) | (cells(point, own) if cells else {column: law(point) * own}))
    kept = _record(factors, points, repeats, host or HERE)
    (path / record.NAME).write_text(kept.model_dump_json())
    directory.write_results(path, kept, rows)
    return path


def _product(factors: dict[str, list[Any]]) -> Iterable[dict[str, Any]]:
    points: list[dict[str, Any]] = [{}]
    for key, cells in factors.items():
        points = [point | {key: cell} for point in points for cell in cells]
    return points


def name_of(key: str) -> str:
    return key.rpartition(".")[2]


def _row(number: int, repeat: int, point: dict[str, Any]) -> dict[str, Any]:
    known = {
        "point": number,
        "repeat": repeat,
        "attempt": 1,
        "valid": True,
        "reasons": [],
        "relaxed": [],
        "workload": "m",
        "memory": "no-huge",
    }
    place = {"directory": f"runs/{number:03}-r{repeat}", "started": datetime(2026, 11, 22, 10)}
    return dict.fromkeys(COLUMNS) | known | place | {name_of(key): cell for key, cell in point.items()}


def _record(
    factors: dict[str, list[Any]], points: list[dict[str, Any]], repeats: int, host: dict[str, Any]
) -> StudyRecord:
    text = TextFile(file="/nowhere/tables.toml", sha256=hashlib.sha256(b"").hexdigest(), text="")
    kinds = {key: "DOUBLE" if isinstance(cells[0], int | float) else "VARCHAR" for key, cells in factors.items()}
    return StudyRecord(
        title="Tables",
        question="What does a bigger table cost?",
        started=datetime(2026, 11, 22, 10, tzinfo=UTC),
        study=text,
        scenario=text,
        sets=[],
        repeats=repeats,
        retries=0,
        seed=1,
        metrics=[],
        factors=[
            FactorRecord(
                name=name_of(key),
                keys=[key],
                type=kinds[key],
                unit=None,
                log=True,
                levels=[LevelRecord(values=[cell], label=str(cell), cell=cell) for cell in cells],
            )
            for key, cells in factors.items()
        ],
        points=[
            PointRecord(
                number=n,
                name=f"{n:03}",
                sets=[],
                cells={name_of(key): cell for key, cell in point.items()},
                memory="no-huge",
                cpus={"server": list(range(int(point.get("server.cores", 1))))},
                cannot_run=None,
            )
            for n, point in enumerate(points, start=1)
        ],
        order=[list(range(1, len(points) + 1))] * repeats,
        host=host,
        versions={"windtunnel": "0.1.0"},
    )
