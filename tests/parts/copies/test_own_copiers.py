"""A copier from outside the tree, in C and in Rust: built away from it, run, and broken in every way."""

import os
import re
import shutil
import subprocess

import pytest
from copying_runs import SIDES, TIMED, assert_copied, copies_of, copying, naming, verified
from fake_runs import gone
from plugin_tools import ROOT, assert_equal_to_header, built_with_cargo, cargo, compiled, example, rust_copy
from printed_pages import blocks, save
from real_runs import execute, run_well
from study_tools import invoke

from windtunnel.engine.find import find_engine
from windtunnel.errors import UserError
from windtunnel.parts.copies.costs import SIZES, measure
from windtunnel.parts.copies.query import copiers
from windtunnel.runs.summary import summarise

pytestmark = pytest.mark.slow

BROKEN = ROOT / "engine" / "parts" / "copies" / "tests" / "own_copiers"
EXAMPLES = pytest.mark.parametrize("mine", ["C", "Rust"], indirect=True)


@pytest.fixture(scope="module")
def mine(request, tmp_path_factory):
    """An example, copied out of the tree and built there."""
    return example(tmp_path_factory.mktemp("away"), "copier", request.param)


def built(directory, name: str):
    """One of the engine's own, of which all but own_copier are broken."""
    return compiled(BROKEN / f"{name}.c", directory / f"{name}.so", "-std=gnu11", "-Wno-override-init")


def lying(directory, fault: str, of=copying, **copies):
    """The run of a copier that breaks this rule."""
    library = built(directory, "own_copier")
    about = {"engine": f"./{library.name}", "options": {"fault": fault}, "timeout": "20ms"}
    return execute(directory, of(about | copies, timeout="50ms") | {"drain": "500ms"}).run


@SIDES
@EXAMPLES
def test_an_example_moves_the_right_bytes(tmp_path, mine, of):
    shutil.copy(mine, tmp_path)
    run = run_well(tmp_path, of({"engine": "./libmine.so", "options": {"least": "1KiB"}}) | TIMED)
    ledger = assert_copied(run)
    assert (ledger.engine, ledger.device, ledger.kind) == (os.path.realpath(tmp_path / "libmine.so"), "mine", "core")
    assert ledger.by_cpu == {} and ledger.copies == ledger.submitted > 0 and ledger.breach is None
    [row] = summarise(run).parts["copies"]
    assert row.submit_cycles > 0 and row.p50 is None


@SIDES
def test_copies_that_end_later_are_right_and_their_account_closes(tmp_path, of):
    library = built(tmp_path, "own_copier")
    run = run_well(tmp_path, of({"engine": f"./{library.name}"}) | TIMED)
    assert assert_copied(run).by_cpu == {}
    assert summarise(run).parts["copies"][0].p50 is not None


def test_the_copier_that_the_guide_shows_is_built_and_right(tmp_path):
    page = ROOT / "docs" / "how-to" / "write-a-copier.md"
    shutil.copytree(ROOT / "include", tmp_path / "include")
    for block in blocks(page):
        if block.file:
            save(block, tmp_path)
    [build] = re.findall(r"^cc .* mine/later.c$", page.read_text(), re.MULTILINE)
    subprocess.run([*build.split(), "-Werror"], cwd=tmp_path, check=True)
    run = run_well(tmp_path, tmp_path / "mine" / "later.toml", "duration=200ms", "warmup=50ms", "window=100ms")
    ledger = copies_of(run)
    assert ledger.device == "later" and ledger.copies > 0 and ledger.never_ended == ledger.missing == 0
    assert verified(run).packets > 0 and verified(run).wrong_packets == 0


def test_the_tests_of_the_example_in_rust_pass(tmp_path):
    assert "1 passed" in cargo(rust_copy(tmp_path, "copier-rust"), "test")


def test_the_rust_bindings_equal_the_header(tmp_path):
    assert_equal_to_header("copier-rust", "copier.h", structures=5, constants=10, directory=tmp_path)


def test_one_in_rust_of_another_abi_is_refused(tmp_path):
    crate = rust_copy(tmp_path, "copier-rust")
    mirror = crate / "src" / "abi.rs"
    mirror.write_text(mirror.read_text().replace("COPIER_ABI: u32 = 1", "COPIER_ABI: u32 = 9"))
    library = built_with_cargo(crate)
    with pytest.raises(UserError, match="was built for copier ABI 9, this engine has 1"):
        execute(tmp_path, copying({"engine": str(library)}))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("own_copier_other_abi", "was built for copier ABI 9, this engine has 1"),
        ("own_copier_wrong_size", "its table says it has 8 bytes"),
        ("own_copier_no_submit", "the hook `submit` is missing"),
    ],
)
def test_a_broken_one_is_refused_before_the_run(tmp_path, name, words):
    library = built(tmp_path, name)
    with pytest.raises(UserError) as refused:
        execute(tmp_path, copying({"engine": f"./{library.name}"}))
    assert words in refused.value.message and "test.toml:" in refused.value.message and refused.value.remedy
    assert not (tmp_path / "run").exists()


def test_its_own_refusal_at_open_is_shown(tmp_path):
    library = built(tmp_path, "own_copier_refuses")
    [reason] = execute(tmp_path, copying({"engine": f"./{library.name}"})).run.record.verdict.reasons
    assert (
        reason.startswith("engine refused: ")
        and "application 0 wants 64 copies at once, and there is no licence" in reason
    )


@SIDES
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("takes_too_many", "`submit` took more copies than there were"),
        ("ends_too_many", "`completed` reported more copies than could have ended"),
        ("unknown_end", "`completed` wrote an end that is none: 7, and 1 is the most"),
    ],
)
def test_one_that_breaks_a_rule_is_named_with_it_and_the_cpu_goes_on(tmp_path, fault, words, of):
    run = lying(tmp_path, fault, of)
    ledger = copies_of(run)
    [reason] = [reason for reason in run.record.verdict.reasons if reason.startswith("copier wrong: ")]
    assert words in reason and words in ledger.breach
    assert ledger.never_ended > 0 and ledger.missing == 0 and ledger.by_cpu["gave_up"] > 0
    assert verified(run).packets > 0 and verified(run).wrong_packets == 0
    assert all(pool.missing == 0 for pool in run.record.engines[0].result.mbufs)


@SIDES
def test_one_that_loses_a_copy_is_given_up(tmp_path, of):
    run = lying(tmp_path, "loses_one", of)
    ledger = copies_of(run)
    assert any(
        reason.startswith(f"copies never ended: {ledger.never_ended} of ") for reason in run.record.verdict.reasons
    )
    assert ledger.copies == 500 and 0 < ledger.never_ended <= 64 and ledger.breach is None
    assert verified(run).wrong_packets == 0


@SIDES
def test_one_that_copies_nothing_is_found(tmp_path, of):
    library = built(tmp_path, "own_copier")
    run = execute(tmp_path, of({"engine": f"./{library.name}", "options": {"fault": "copies_nothing"}})).run
    assert any(reason.startswith("copies wrong: ") for reason in run.record.verdict.reasons)
    assert verified(run).wrong_packets == copies_of(run).copies > 0


def test_copies_that_fail_are_made_by_the_cpu(tmp_path):
    library = built(tmp_path, "own_copier")
    ledger = assert_copied(run_well(tmp_path, copying({"engine": f"./{library.name}", "options": {"fault": "fails"}})))
    assert list(ledger.by_cpu) == ["failed"] and ledger.copies == 0


def test_faults_are_planted_on_one(tmp_path):
    library = built(tmp_path, "own_copier")
    options = {"engine": f"./{library.name}", "fault": "lying", "share": "0.01", "most": 10}
    run = execute(tmp_path, naming({"engine": "planted", "options": options})).run
    assert copies_of(run).planted.count == verified(run).wrong_packets == 10


def test_a_crash_at_open_names_the_file(tmp_path):
    source = tmp_path / "crashes.c"
    source.write_text(
        (BROKEN / "own_copier_refuses.c")
        .read_text()
        .replace("(void)state;", "*(volatile int *)8 = (int)(size_t)state;")
    )
    library = compiled(source, tmp_path / "crashes.so", "-std=gnu11", "-Wno-override-init", "-I", str(BROKEN))
    run = execute(tmp_path, copying({"engine": "./crashes.so"})).run
    assert run.record.verdict.reasons == [f"engine died: SIGSEGV while opening the copier {library}"]


@EXAMPLES
def test_its_costs_are_measured_beside_the_others(mine, one_round):
    found = {one.copier.engine: one for one in measure(depth=16, files=[str(mine)])}
    own = found[str(mine)]
    assert [cost.bytes for cost in own.costs if cost.hot] == list(SIZES)
    assert own.is_loop and own.copier.device == "mine" and "cpu_nt" in found


@pytest.mark.parametrize(
    ("fault", "words"), [("copies_nothing", "does not copy 256 bytes right"), ("takes_too_many", "`submit` took more")]
)
def test_costs_of_one_that_is_wrong_are_refused(tmp_path, fault, words):
    source = tmp_path / "wrong.c"
    header = (BROKEN / "own_copier.h").read_text()
    source.write_text(
        header.replace('"fault", "none"', f'"fault", "{fault}"') + "const struct wt_copier wt_copier = {OWN};"
    )
    library = compiled(source, tmp_path / "wrong.so", "-std=gnu11")
    with pytest.raises(UserError, match=words):
        measure(depth=16, files=[str(library)])


FORKS = """
#include "own_copier.h"
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void load(void) {
    const int child = fork();
    if (child == 0) for (;;) pause();
    FILE *out = fopen("CHILDREN", "a");
    fprintf(out, "%d\\n", child);
    fclose(out);
}
const struct wt_copier wt_copier = {OWN};
"""


def forking(directory):
    """One that starts a process when it is loaded, and the file with the numbers of these."""
    children, source = directory / "children", directory / "forks.c"
    source.write_text(FORKS.replace("CHILDREN", str(children)))
    return compiled(source, directory / "forks.so", "-std=gnu11", "-Wno-override-init", "-I", str(BROKEN)), children


def test_what_one_has_started_ends_with_who_opened_it(tmp_path, one_round):
    library, children = forking(tmp_path)
    assert copiers(find_engine(), library) and measure(depth=16, files=[str(library)])
    execute(tmp_path, copying({"engine": "./forks.so"}))
    started = [int(line) for line in children.read_text().split()]
    assert len(started) >= 5, "listed twice, measured, checked, and in the run"
    assert all(gone(child) for child in started)


def test_one_that_another_user_could_replace_is_not_opened(tmp_path):
    library, children = forking(tmp_path)
    library.chmod(0o777)
    with pytest.raises(UserError, match=r"test.toml:\d+: copier .*/forks.so is not opened: other users may write"):
        execute(tmp_path, copying({"engine": "./forks.so"}))
    assert not children.exists()


@EXAMPLES
def test_its_options_are_listed(mine):
    said = invoke("copiers", "--plugin", str(mine))
    assert "mine" in said and "least (bytes, default 512B)" in said and str(mine) in said
