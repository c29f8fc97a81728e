"""What the product shows of kept results: a net under changes that are to change nothing.

inputs.tar.xz   small samples of real results, of every capability (tests/support/keep_record.py made them from runs)
shown.tar.xz    what was shown of them, a file for each input and view

    python tests/net/net.py show DIR    writes what is shown now, for `diff -r` between two commits
    python tests/net/net.py keep        keeps what is shown now: for a difference that is wanted, and that its commit names
"""

import re
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from rich.console import Console, RenderableType

from windtunnel.cli.as_option import FORMATS
from windtunnel.results.document import Document

HERE = Path(__file__).parent
INPUTS, SHOWN = HERE / "inputs.tar.xz", HERE / "shown.tar.xz"
SCENARIOS = HERE.parents[1] / "scenarios"
LIBRARY = re.compile(r"(<script[^>]*>)[^<]{200000,}?(</script>)", re.DOTALL)
"""Plotly, which is no concern of ours."""
CHANGING = (
    (re.compile(r'("hash": ")[^"]+'), r"\1(of the rest)"),
    (re.compile(r'("(?:made|fitted)": ")[^"]+'), r"\1(now)"),
    (re.compile(r"\bwt-[0-9a-f]{8}\b"), "wt-(drawn)"),
    (re.compile(r"(rules/)[0-9a-f]{64}"), r"\1(of the file and its place)"),
    (re.compile(r'("windtunnel": ")[^"]+'), r"\1(version)"),
)
LONG_NUMBER = re.compile(r"-?\b\d+\.\d{6,}(?:e[-+]?\d+)?\b")
DIGITS = 8
"""Of numbers with more: the last ones of a sum depend on the instructions that a CPU has."""
ROWS = "select * from results order by all"
View = Callable[[Path], str]


def command(*words: str) -> View:
    """What the command says of an input, with its exit code."""

    def said(path: Path) -> str:
        import in_process

        from windtunnel.errors import UserError

        done = in_process.run(*(word.replace("INPUT", str(path)) for word in words))
        if isinstance(done.exception, UserError):
            return f"{done.exception.message}\nremedy: {done.exception.remedy}\n"
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return f"{done.stdout}{done.stderr}exit code {done.exit_code}\n"

    return said


def page(path: Path) -> str:
    from windtunnel.measure.earlier import earlier
    from windtunnel.results.page.renderer import render
    from windtunnel.results.run.document import run_document
    from windtunnel.runs import load

    run = load(path)
    return LIBRARY.sub(r"\1\2", render(run_document(run, earlier(run))))


def plan(path: Path) -> str:
    """The plan of a shipped scenario on a machine with four CPUs."""
    from scenario_tools import machine_for

    from windtunnel.errors import UserError
    from windtunnel.scenario import load, resolve

    try:
        spec = resolve(load(path, []), machine_for(path.name, 4))
    except UserError as error:
        return f"{error.message}\nremedy: {error.remedy}\n"
    return "".join(f"{plan.model_dump_json(indent=1)}\n" for plan in spec.plans)


def study(path: Path) -> str:
    import duckdb

    from windtunnel.measure.study.record import read
    from windtunnel.measure.study.study import Study
    from windtunnel.results.study import study_document

    rows = duckdb.read_parquet(str(path / "results.parquet"))
    finished = Study(
        path, read(path / "study.json"), [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()], False
    )
    return rendered(study_document(finished))


def search(path: Path) -> str:
    from windtunnel.measure.throughput.search_record import SearchRecord
    from windtunnel.results.search import search_document

    return rendered(search_document(SearchRecord.model_validate_json(path.read_text())))


def comparison(path: Path) -> str:
    from windtunnel.measure.compare.comparison_record import Comparison
    from windtunnel.results.comparison import comparison_document

    return rendered(comparison_document(Comparison.model_validate_json(path.read_text())))


def repeated(path: Path) -> str:
    from windtunnel.measure.repeat import Repeated
    from windtunnel.results.repeat import repeated_document

    return rendered(repeated_document(Repeated.model_validate_json(path.read_text())))


OF_ECHO = {"accounting-off", "counted", "probed", "probed-first", "rejected", "traced"}
"""Runs that need no part. The others have the names of their scenarios, and are left out if a part was taken out with its scenarios."""
RUN = {
    "show": command("show", "INPUT"),
    "json": command("show", "INPUT", "--json"),
    "markdown": command("show", "INPUT", "--format", "markdown"),
    **{name: command("show", "INPUT", "--as", name) for name in FORMATS},
    "page": page,
}
STUDY = {"rows": command("study", "query", ROWS, "--study", "INPUT", "--json"), "page": study}
OTHERS: Mapping[str, Mapping[str, View]] = {
    "comparison": {
        "again": command("compare", "INPUT/a", "INPUT/b"),
        "json": command("compare", "INPUT/a", "INPUT/b", "--json"),
        "kept": lambda path: comparison(path / "comparison.json"),
        "history": command("history", "INPUT"),
    },
    "search.json": {"kept": search},
    "repeat.json": {"kept": repeated},
    "study-inflight": STUDY,
}


@cache
def views_of_runs() -> Mapping[str, View]:
    """With those of parts' commands that read one."""
    from part_samples import part_samples

    of_parts = {
        f"{name}{option.removeprefix('-')}": command(name, "INPUT", *filter(None, [option]))
        for name in part_samples("READING_COMMAND")
        for option in ("", "--json")
    }
    return RUN | of_parts


@cache
def views_of_others() -> Mapping[str, Mapping[str, View]]:
    """With those of parts, of inputs of their own, too."""
    from part_samples import part_samples

    views = dict(OTHERS)
    for of_part in part_samples("KEPT_VIEWS"):
        views |= {name: {**views.get(name, {}), **more} for name, more in of_part.items()}
    return views


def cases() -> Iterator[tuple[str, str]]:
    """Every input with every view of it. A shipped scenario is an input, too."""
    with tarfile.open(INPUTS) as inputs:
        runs = sorted(
            {parts[2] for name in inputs.getnames() if len(parts := name.split("/")) > 2 and parts[1] == "runs"}
        )
    here = (name for name in runs if name in OF_ECHO or (SCENARIOS / f"{name}.toml").exists())
    yield from ((f"runs/{name}", view) for name in here for view in views_of_runs())
    yield from ((name, view) for name, views in views_of_others().items() for view in views)
    yield from ((f"scenarios/{file.name}", "plan") for file in sorted(SCENARIOS.glob("*.toml")))


def shown(name: str, view: str, inputs: Path) -> str:
    """What is shown now, without what differs from day to day and from place to place."""
    if name.startswith("scenarios/"):
        text = plan(SCENARIOS / Path(name).name)
    else:
        of = views_of_runs() if name.startswith("runs/") else views_of_others()[name]
        text = of[view](inputs / name)
    text = text.replace(str(inputs), "INPUTS").replace(str(SCENARIOS.parent), "CHECKOUT")
    for pattern, instead in CHANGING:
        text = pattern.sub(instead, text)
    return rounded(text)


def rounded(text: str) -> str:
    """The text with at most so many digits of each number."""
    return LONG_NUMBER.sub(lambda number: f"{float(number[0]):.{DIGITS}g}", text)


def unpack(directory: Path) -> Path:
    with tarfile.open(INPUTS) as inputs:
        inputs.extractall(directory, filter="data")
    return directory


def kept(name: str, view: str) -> str:
    """What was shown when it was kept. Raises KeyError for what was not there yet."""
    return _kept()[file_of(name, view)]


def kept_files() -> set[str]:
    """Every file that was kept."""
    return set(_kept())


@cache
def _kept() -> dict[str, str]:
    with tarfile.open(SHOWN) as archive:
        return {
            entry.name: file.read().decode() for entry in archive if (file := archive.extractfile(entry)) is not None
        }


def file_of(name: str, view: str) -> str:
    return f"{name}/{view}"


@contextmanager
def surroundings(directory: Path) -> Iterator[None]:
    """The same terminal for everybody, and no memory of this host."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "120")
        patch.setenv("TZ", "UTC")
        for variable in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
            patch.setenv(variable, str(directory / "kept" / variable))
        patch.chdir(directory)
        yield


def rendered(document: Document) -> str:
    """In a terminal, and as a page."""
    from windtunnel.results.page.renderer import render
    from windtunnel.results.terminal.renderer import document_view

    return _on_console(document_view(document)) + LIBRARY.sub(r"\1\2", render(document))


def _on_console(view: RenderableType) -> str:
    text = StringIO()
    Console(file=text, width=120, color_system=None).print(view)
    return text.getvalue()


def _all(directory: Path) -> Iterator[tuple[str, str]]:
    """Each file that `keep` keeps, with its text."""
    inputs = unpack(directory)
    with surroundings(directory):
        for name, view in cases():
            yield file_of(name, view), shown(name, view, inputs)


def _write(directory: Path, file: str, text: str) -> None:
    (directory / file).parent.mkdir(parents=True, exist_ok=True)
    (directory / file).write_text(text)


def _newly_refused(files: list[tuple[str, str]]) -> str | None:
    """The first plan that was one when it was kept, and is a refusal now, as by an engine without a handler."""
    with tarfile.open(SHOWN) as archive:
        kept = {
            member.name: archive.extractfile(member).read().decode()
            for member in archive
            if member.name.endswith("plan")
        }
    plans = [(file, text) for file, text in files if kept.get(file, "remedy: ").startswith("{")]
    return next((file for file, text in plans if not text.startswith("{")), None)


def _keep(archive: tarfile.TarFile, file: str, text: str) -> None:
    entry = tarfile.TarInfo(file)
    entry.size = len(text.encode())
    archive.addfile(entry, BytesIO(text.encode()))


def main(words: list[str]) -> int:
    with TemporaryDirectory() as directory:
        match words:
            case ["show", place]:
                to = partial(_write, Path(place).absolute())
                for file, text in _all(Path(directory)):
                    to(file, text)
            case ["keep"]:
                files = list(_all(Path(directory)))
                if refused := _newly_refused(files):
                    print(
                        f"{refused}: a refusal, and it was a plan: ./windtunnel quickstart builds an engine with all handlers"
                    )
                    return 1
                with tarfile.open(SHOWN, "w:xz", preset=9) as archive:
                    for file, text in files:
                        _keep(archive, file, text)
            case _:
                print(__doc__)
                return 2
    return 0


if __name__ == "__main__":
    sys.path += map(str, [HERE.parent / "support", *HERE.parent.glob("parts/*")])
    sys.exit(main(sys.argv[1:]))
