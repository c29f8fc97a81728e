"""The page of the command line: a section for each command, and texts in which nothing is Markdown by accident."""

import re

import typer

from windtunnel.cli import command_line_page
from windtunnel.cli.app import app


def test_every_command_has_a_section_and_a_link():
    page = command_line_page.page()
    shown = set(typer.main.get_command(app).commands)
    sections = set(re.findall(r"^## windtunnel (.+)$", page, re.MULTILINE))
    assert shown | {"host doctor", "study query", "share serve"} <= sections
    links = re.findall(r"\(#windtunnel-([^)]+)\)", page)
    assert sorted(links) == sorted({name.replace(" ", "-") for name in sections})


def test_a_section_has_usage_options_and_examples():
    section = command_line_page.page().partition("\n## windtunnel compare\n")[2].partition("\n## ")[0]
    for part in (
        "```\nwindtunnel compare [OPTIONS] A B\n```",
        "**Arguments**\n\n- `A`: The baseline: ",
        "- `--pairs N`: Scenarios: number of pairs to run.  \\[default: 15, 1 to 9999]",
        "**Examples**\n\n```sh\nwindtunnel compare scenarios/echo.toml",
    ):
        assert part in section
    assert section.rstrip().endswith("```")


def test_nothing_in_a_text_is_markdown_but_names_between_backticks():
    formatter = command_line_page.Markdown("windtunnel", frozenset())
    formatter.write_dl([("--out DIR", "runs/<UTC time>, *.toml, app_rx, `app_rx`, one `, [a](b)")])
    assert formatter.lines == [r"- `--out DIR`: runs/\<UTC time>, \*.toml, app\_rx, `app_rx`, one \`, \[a](b)"]


def test_a_list_links_to_the_commands_that_there_are():
    formatter = command_line_page.Markdown("windtunnel host", frozenset({"windtunnel host doctor"}))
    formatter.write_dl([("doctor  ", "Check."), ("other", "Other.")])
    assert formatter.lines == ["- [`windtunnel host doctor`](#windtunnel-host-doctor): Check.", "- `other`: Other."]
