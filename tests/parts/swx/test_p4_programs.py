"""P4 programs as the input, with a stand-in for p4c-dpdk that has its arguments, its messages and its way to start a preprocessor: what it is
given, what becomes of what it writes and says, and what a program of somebody else cannot do by it."""

from pathlib import Path

import pytest
from fake_runs import gone
from real_runs import execute
from scenario_tools import LENIENT, SHIPPED, finished, refused, written
from typer.testing import CliRunner

from windtunnel.cli.app import app
from windtunnel.engine.home import cache_directory
from windtunnel.parts.swx import p4
from windtunnel.scenario.plugins import code_not_opened

PROGRAM = "#include <core.p4>\n#include <psa.p4>\n\ncontrol ingress() { apply { } }\n"
SECRET = "hunterSECRET"
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("pipelines")]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch) -> Path:
    """The directory of the scenario, which is the working directory."""
    monkeypatch.setattr(p4, "DIRECTORIES", (tmp_path / "bin",))
    (tmp_path / "bin").mkdir()
    directory = tmp_path / "place"
    directory.mkdir()
    (directory / "router.p4").write_text(PROGRAM)
    monkeypatch.chdir(directory)
    return directory


def install(place: Path, *lines: str) -> Path:
    """A p4c-dpdk of these lines, which writes the shipped l2fwd if they do not end it; returns the file of its arguments, one a line."""
    program, told = place.parent / "bin" / p4.PROGRAM, place.parent / "told"
    wrote = (f'printf "%s\\n" "$@" >"{told}"', *lines, f'cat "{SHIPPED / "swx-l2fwd.spec"}" >"$4"')
    program.write_text("#!/bin/sh\n" + "\n".join(wrote) + "\n")
    program.chmod(0o755)
    return told


def workload(program: str = "router.p4") -> dict:
    options = {"spec": program}
    return {"wire": {"kind": "null"}, "server": {}, "workload": [{"packet_handler": "swx", "options": options}]}


def spec_of(place: Path, program: str = "router.p4") -> Path:
    return Path(finished(place, workload(program)).plans[0].workloads[0].packet_handler.options["spec"])


@pytest.mark.parametrize("architecture", ["psa", "pna"])
def test_it_is_called_as_its_backend_documents(place, architecture):
    (place / "router.p4").write_text(PROGRAM.replace("psa", architecture))
    told = install(place)
    spec = spec_of(place)
    assert told.read_text().split() == ["--arch", architecture, "-o", "router.spec", "source/router.p4"]
    assert spec.read_text() == (SHIPPED / "swx-l2fwd.spec").read_text()
    assert spec.parent == cache_directory() / "p4"


def test_a_run_has_the_spec_with_which_it_ran(place):
    install(place)
    data = workload() | {"duration": "200ms", "warmup": "50ms", "window": "100ms"}
    run = execute(place, data, *LENIENT).run
    assert run.record.verdict.valid, run.record.verdict.reasons
    [kept] = run.path.glob("router-*.spec")
    assert kept.read_text() == (SHIPPED / "swx-l2fwd.spec").read_text()
    assert run.record.scenario["workload"][0]["options"]["spec"] == "router.p4"
    handler = run.record.engines[0].plan.workloads[0].packet_handler
    assert Path(handler.options["spec"]).name == kept.name


def test_each_text_has_a_spec_of_its_own(place):
    install(place)
    first = spec_of(place)
    install(place, f'cat "{SHIPPED / "swx-exact.spec"}" >"$4"; exit')
    second = spec_of(place)
    assert first != second and first.exists() and second.exists()


def test_its_errors_have_file_and_line(place):
    (place / "parts").mkdir()
    for name in ("parts/tables.p4", "headers.p4"):
        (place / name).touch()
    install(
        place,
        "cat >&2 <<'END'",
        "source/router.p4(3): [--Wwarn=unused] warning: 'unused' is unused",
        "source/router.p4(4): [--Werror=not-found] error: hops: declaration not found",
        "        hops.apply();",
        "        ^^^^",
        "source/parts/../headers.p4(7):syntax error, unexpected IDENTIFIER",
        "source/parts/tables.p4:9:10: fatal error: none.p4: No such file or directory",
        "source/router.p4(12): error: table: cannot be applied",
        "4 errors, 1 warning generated.",
        "END",
        "exit 1",
    )
    done = CliRunner().invoke(app, ["check", str(written(place, workload()))])
    assert done.exit_code == 2
    said = " ".join(done.output.split())
    assert f"test.toml:3: {place}/router.p4:4: hops: declaration not found; " in said
    assert f"{place}/headers.p4:7: syntax error, unexpected IDENTIFIER; " in said
    assert f"{place}/parts/tables.p4:9: none.p4: No such file or directory; 1 more" in said
    assert "unused" not in said


def test_lines_of_files_elsewhere_are_not_quoted(place):
    """A program includes what it likes, and who reads the log of a CI may have no right to read that."""
    home = place.parent / "home"
    home.mkdir()
    (home / "env").write_text(f"PGPASSWORD={SECRET}\n")
    for name in (str(home / "env"), "source/../home/env", "../home/env"):
        install(place, f'echo "{name}(1):syntax error, unexpected IDENTIFIER {SECRET}"; exit 1')
        text = refused(place, workload())
        assert f"{home}/env:1: " in text or "/home/env:1: " in text
        assert SECRET not in text
    install(place, f'echo "{SECRET}"; exit 1')
    text = refused(place, workload())
    assert "ended with exit code 1, and named no line" in text and SECRET not in text
    assert f"p4c-dpdk --arch psa -o router.spec {place}/router.p4" in text


@pytest.mark.parametrize(
    "include",
    [
        '#include "{secret}"',
        "#include <{secret}>",
        '#include "../home/env"',
        "#include <../home/env>",
        '#include "link"',
        '#include "parts/more.p4"',
        '#inc\\\nlude "{secret}"',
        '#inc\\ \nlude "{secret}"',
        '# /*\n*/ include "{secret}"',
        '#define NAME "{secret}"\n#include NAME',
        '#import "{secret}"',
        '#include_next "{secret}"',
    ],
)
def test_a_program_that_includes_files_elsewhere_is_not_quoted_itself(place, include):
    """The included text may be the name of a type, which p4c says of any line that uses the type."""
    home = place.parent / "home"
    home.mkdir()
    secret = home / "env"
    secret.write_text(SECRET)
    (place / "link").symlink_to(secret)
    (place / "parts").mkdir()
    (place / "parts/more.p4").write_text(f'#include "{secret}"\n')
    (place / "router.p4").write_text(f"{PROGRAM}struct\n{include.format(secret=secret)}\n{{ bit<8> a; }}\n")
    install(
        place, f"echo \"source/router.p4(9): error: Cannot unify type 'struct {SECRET}' with type 'bit<8>'\"; exit 1"
    )
    text = refused(place, workload())
    assert f"{place}/router.p4:9: this line is not right" in text and SECRET not in text


def test_a_program_that_includes_files_beside_it_is_quoted(place):
    (place / "parts").mkdir()
    (place / "parts/more.p4").write_text('#include "../router.p4"\n# include <dpdk/pna.p4> // p4c\'s\n')
    (place / "router.p4").write_text(f'{PROGRAM}#include "parts/more.p4"\n#include "core.p4"\n// includes\n')
    install(place, "echo 'source/router.p4(9): error: hops: declaration not found'; exit 1")
    assert f"{place}/router.p4:9: hops: declaration not found" in refused(place, workload())


def test_without_it_the_error_says_what_to_do(place):
    text = refused(place, workload())
    assert "test.toml:3: " in text and f"{place}/router.p4: this host has no p4c-dpdk" in text
    assert "build p4c" in text and f"p4c-dpdk --arch psa -o router.spec {place}/router.p4 elsewhere" in text
    program = place.parent / "bin" / p4.PROGRAM
    install(place)
    program.chmod(0o777)
    assert "has no p4c-dpdk" in refused(place, workload())


def test_a_program_of_another_architecture(place):
    install(place)
    (place / "router.p4").write_text("// #include <psa.p4>\n#include <v1model.p4>\n")
    text = refused(place, workload())
    assert "includes neither psa.p4 nor pna.p4" in text and "#include <psa.p4>" in text


def test_no_name_of_a_program_is_read_by_the_shell_of_p4c(place):
    told = install(place, 'sh -c "cat $5 >/dev/null"')
    name = "a;touch proof;.p4"
    (place / name).write_text(PROGRAM)
    assert "characters that a shell reads" in refused(place, workload(name))
    assert not told.exists()
    there = place / "b;touch proof;"
    there.mkdir()
    (there / "router.p4").write_text(PROGRAM)
    assert spec_of(there, "router.p4").exists()
    assert not list(place.rglob("proof"))


def test_it_works_in_a_directory_of_its_own_which_goes(place):
    install(place, f'pwd >"{place}/pwd"; echo "$TMPDIR" >>"{place}/pwd"; touch "$TMPDIR/left"')
    spec_of(place)
    directory, temporary = (place / "pwd").read_text().split()
    assert directory == temporary and not Path(directory).exists()


def test_its_time_and_what_it_writes_are_bounded(place, monkeypatch):
    monkeypatch.setattr(p4, "TIMEOUT_S", 0.5)
    install(place, f'sleep 60 & echo $! >"{place}/pid"; wait')
    assert "has not ended within 0.5 s" in refused(place, workload())
    assert gone(int((place / "pid").read_text()))
    monkeypatch.setattr(p4, "TIMEOUT_S", 60.0)
    install(place, 'sleep 0.2; head -c 8M /dev/zero >"$4"; exit')
    assert "ended with exit code 153" in refused(place, workload())  # SIGXFSZ ended `head`


def test_its_memory_is_bounded(place, monkeypatch):
    """A program may include /dev/zero."""
    monkeypatch.setattr(p4, "MOST_MEMORY_BYTES", 128 << 20)
    limited = 'for n in $(seq 50); do [ "$(ulimit -d)" = unlimited ] || break; sleep 0.1; done'
    install(place, f"{limited}; python3 -c 'bytearray(300 << 20)' || exit 7")
    assert "ended with exit code 7" in refused(place, workload())


def test_nothing_is_started_if_nothing_is_opened(place):
    told = install(place)
    with code_not_opened():
        assert spec_of(place) == place / "router.p4"
    assert not told.exists()
