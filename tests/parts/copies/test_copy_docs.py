"""What pages state of copies."""

from pathlib import Path

from windtunnel.parts.copies.keys import Copies

KEYS = Path(__file__).parents[3] / "docs/reference/scenario.md"


def test_options_of_a_copier_are_listed_by_its_command():
    assert "windtunnel copiers" in str(Copies.model_fields["options"].metadata)
    table = KEYS.read_text().partition('\n| `engine` | text | `"cpu"` |')[2].partition("\n\n")[0]
    assert "\n| `options` | a table of names and values; `windtunnel copiers` lists them |" in table
