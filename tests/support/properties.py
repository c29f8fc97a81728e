"""How many examples a property draws."""

from hypothesis import settings

USUAL = 100


def examples(count: int) -> settings:
    """So many where a property without this draws a hundred, and as many times more where it draws more."""
    return settings(max_examples=count * settings.default.max_examples // USUAL)
