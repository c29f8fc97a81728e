"""The command line in this process."""

import pytest
from command_line import in_process
from study_tools import on_paper


@pytest.fixture
def typed(tmp_path):
    """Types a command in the test's directory; what it runs is run on paper, without an engine's process."""
    with on_paper():
        yield lambda *arguments, **changes: in_process(*arguments, cwd=tmp_path, **changes)
