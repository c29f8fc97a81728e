"""How commands are found and listed: by task, of one word or two, and from extensions."""

from typing import Any

import typer
from typer.core import TyperGroup

from windtunnel.cli import completion, extensions, texts

PREPARE, MEASURE, MODEL, EXCHANGE = "Prepare", "Measure", "Model and share", "Exchange"
TASKS = (PREPARE, MEASURE, MODEL, EXCHANGE)
"""In the order of --help; commands without a task come last."""
OTHER = "Other"


class Commands(TyperGroup):
    """The top level. A command may have two words ("study query"); extensions add commands."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:
        if any(argument.startswith("--install-completion") for argument in args):
            completion.check_home()
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: typer.Context) -> list[str]:
        return [name for name in [*super().list_commands(ctx), *extensions.names()] if " " not in name]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or extensions.load(cmd_name)

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:
        two_words = " ".join(args[:2])
        if two_words in self.commands:
            return two_words, self.commands[two_words], args[2:]
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:
        """A line a command, by task; then options and examples."""
        formatter.write(f"{self.help}\n\n")
        formatter.write_usage(ctx.command_path, "COMMAND [OPTIONS]")
        tasks = self._by_task(ctx)
        width = max(len(name) for rows in tasks.values() for name, _ in rows)
        for task, rows in tasks.items():
            with formatter.section(task):
                formatter.write_dl([(f"{name:<{width}}", help_) for name, help_ in rows])
        with formatter.section("Options"):
            records = filter(None, (param.get_help_record(ctx) for param in self.get_params(ctx)))
            formatter.write_dl([(name, texts.plain(help_)) for name, help_ in records])
        formatter.write(f"\n{self.epilog}\n")

    def _by_task(self, ctx: typer.Context) -> dict[str, list[tuple[str, str]]]:
        tasks: dict[str, list[tuple[str, str]]] = {}
        for name in [*self.commands, *extensions.names()]:
            command = self.get_command(ctx, name)
            task = command.rich_help_panel if isinstance(command.rich_help_panel, str) else OTHER
            tasks.setdefault(task, []).append((name, command.short_help or ""))
        return {task: tasks[task] for task in (*TASKS, *tasks) if task in tasks}
