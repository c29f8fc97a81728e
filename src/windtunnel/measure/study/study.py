"""Makes a table and a report from a study file, or from the directory of a study that was cut short."""

import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from windtunnel.engine.find import find_engine
from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError, as_argument
from windtunnel.measure.execute import new_directory
from windtunnel.measure.executor import Executor, ThisHost
from windtunnel.measure.study import definition, directory, identity, record, seal
from windtunnel.measure.study.columns import has_metrics
from windtunnel.measure.study.conduct import Conductor, Watcher
from windtunnel.measure.study.design import Design, code_of, design
from windtunnel.measure.study.record import StudyRecord
from windtunnel.measure.study.seal import BegunElsewhere
from windtunnel.measure.study.states import Blocked, blocked, by_testbed
from windtunnel.notebook import Shown
from windtunnel.printing import one_line
from windtunnel.scenario import here
from windtunnel.scenario.load import check_name_of_text


@dataclass(frozen=True)
class Prepared:
    """A study that is ready to run: checked whole, and placed where it will run."""

    path: Path
    design: Design
    executor: Executor
    began: bool
    """Whether the directory holds some of it already."""

    @property
    def at_once(self) -> int:
        """Runs that take place at a time, as far as the executor keeps its testbeds."""
        return max(1, len(self.executor.testbeds))


@dataclass(frozen=True)
class Study(Shown):
    """A study's directory in memory."""

    path: Path
    record: StudyRecord
    rows: list[dict[str, Any]]
    """Rows of results.parquet: one for each run and workload, by point and repeat."""
    interrupted: bool
    """Runs are missing: `windtunnel study PATH` goes on."""
    repeated: int = 0
    """Runs that were repeated because they missed the state of the host that most points share."""

    @cached_property
    def parts(self) -> dict[str | None, "Study"]:
        """What may be taken together: the whole study, under None; of a spread study the part of each testbed, under its name."""
        return {
            testbed: replace(self, rows=rows) if testbed else self
            for testbed, rows in by_testbed(self.record, self.rows).items()
        }

    @cached_property
    def blocked(self) -> Blocked:
        """The rows of one state of the host: what findings, plots and medians are of. Of a spread study only its parts have them."""
        return blocked(self.record, self.rows)

    @property
    def missed(self) -> int:
        """Valid runs of another state, which are in no finding."""
        return sum(len({(row["point"], row["repeat"]) for row in part.blocked.missed}) for part in self.parts.values())

    @property
    def results(self) -> Path:
        return self.path / directory.RESULTS

    @property
    def invalid(self) -> int:
        """Runs that were invalid to the last attempt."""
        return len({(row["point"], row["repeat"]) for row in self.rows if not row["valid"]})

    @property
    def included(self) -> int:
        """Invalid runs whose rejected metrics are in the rows."""
        return len({(row["point"], row["repeat"]) for row in self.rows if not row["valid"] and has_metrics(row)})

    @property
    def relaxed(self) -> list[str]:
        """Validity limits that the scenario of any run relaxed."""
        return list(dict.fromkeys(limit for row in self.rows for limit in row["relaxed"] or ()))

    @property
    def finished(self) -> int:
        """Runs, the last attempt of each."""
        return len({(row["point"], row["repeat"]) for row in self.rows})

    @property
    def due(self) -> int:
        return sum(map(len, self.record.order))


def prepare(
    source: Path,
    sets: list[str],
    out: Path | None = None,
    executor: Executor | None = None,
    full: bool = False,
    from_elsewhere: bool = False,
) -> Prepared:
    """`source`: a study file, or the directory of a study that is to continue. `executor`: of its runs; None: this host. `full`: in its
    full size. `from_elsewhere`: the user agrees to continue what another user began; else it raises BegunElsewhere, before it opens any
    handler. Raises UserError for whatever is wrong with the study."""
    executor = executor or ThisHost(here())
    view = executor.view
    kept: tuple[StudyRecord, bytes] | None = None
    if source.is_dir():
        kept = then, _ = record.read_with_bytes(source / record.NAME)
        if sets or full or (out and os.path.realpath(out) != os.path.realpath(source)):
            option = "--set" if sets else "--full" if full else "--out"
            raise UserError(
                f"{option} has no effect on a study that continues", remedy=f"windtunnel study {as_argument(source)}"
            )
        if not Path(then.study.file).is_file():
            raise UserError(
                f"{source}: its study file {then.study.file} is gone", remedy=f"its text is in {source / record.NAME}"
            )
        study_file = definition.read(Path(then.study.file), source)
        study_file = study_file.in_full() if then.full else study_file
        path, sets, command = source, then.sets, as_argument(source)
    else:
        check_name_of_text(source)
        study_file = definition.read(source)
        study_file = study_file.in_full() if full else study_file
        path = out or new_directory(f"{source.stem}-full" if full else source.stem)
        command = f"{as_argument(source)} --out {as_argument(path)}"
    if kept is None and (path / record.NAME).is_file():
        kept = record.read_with_bytes(path / record.NAME)
    if kept and not from_elsewhere and not seal.is_of(path, kept[1]):
        raise BegunElsewhere(
            f"{path}: not begun by you: to continue it runs\n{_runs(study_file, sets)}",
            remedy=f"read these, and then windtunnel study {command} --from-elsewhere",
        )
    if kept and (changed := identity.changed_texts(kept[0], study_file.source.text, study_file.scenario_text)):
        raise _has_changed(path, changed)  # before a handler is opened that was another one then
    return Prepared(path, design(study_file, sets, view), executor, kept is not None)


def _has_changed(path: Path, changes: str) -> UserError:
    return UserError(
        f"{path}: cannot continue: the study has changed since it began\n{changes}",
        remedy="undo the changes, or start again with another --out",
    )


def _runs(study_file: definition.Definition, sets: list[str]) -> str:
    """What a study runs: its files, what is set, and code that runs as the user."""
    scenario = study_file.scenario_file.absolute()
    parts = [("study", study_file.source.file), ("scenario", scenario), *(("--set", text) for text in sets)]
    parts += [("code", scenario.parent / code) for code in code_of(study_file, sets)]
    return "\n".join(one_line(f"{noun:<9} {name}") for noun, name in parts)


def run(prepared: Prepared, interrupts: Interrupts, watcher: Watcher, include_invalid: bool = False) -> Study:
    """Runs what is missing of the study. `include_invalid`: its table has rejected metrics too. Raises UserError if the
    directory is another's, if the study is not the one that began there, or if something cannot be kept."""
    find_engine()
    path = prepared.path
    with directory.opened(path):
        kept = _record(prepared)
        progress = Conductor(path, prepared.design, kept, prepared.executor, interrupts, watcher, include_invalid).run()
        rows = progress.all_rows()
        if rows:
            directory.write_results(path, kept, rows)
    return Study(path, kept, rows, progress.interrupted, len(progress.for_state))


def _record(prepared: Prepared) -> StudyRecord:
    """The record in study.json. It is written when the study begins and compared when it continues. If another user began the study, it then
    becomes this user's, and names the files that were shown."""
    path, now = prepared.path, record.record_of(prepared.design, prepared.executor)
    if not (path / record.NAME).exists():
        directory.keep(path, now)
        return now
    then = record.read(path / record.NAME)
    if changed := identity.differences(then, now):
        raise _has_changed(path, changed)
    if not seal.is_own(path):
        then = then.model_copy(update={"study": now.study, "scenario": now.scenario})
        directory.keep(path, then)
    return then
