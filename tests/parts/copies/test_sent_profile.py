"""A profile of an engine that was sent, printed by `windtunnel copiers`."""

import pytest
from command_line import command, in_process, on_terminal

from windtunnel.parts.copies.engine_profiles import text_of

pytestmark = pytest.mark.slow
ENGINE = f"# \x9b31m\u202e\n{text_of('dsa-spr')}"


def test_a_file_is_exact_off_a_terminal_and_harmless_on_it(tmp_path):
    (tmp_path / "a\x1b[31m.toml").write_text(ENGINE)
    assert in_process("copiers", "a\x1b[31m.toml", cwd=tmp_path).stdout == ENGINE
    code, shown = on_terminal(command("copiers", "a\x1b[31m.toml"), tmp_path)
    assert code == 0 and shown.replace("\r\n", "\n") == ENGINE.replace("\x9b", "\\u009b").replace("\u202e", "\\u202e")
