"""Help that fits one screen: `--help` has the most used options, each with the first sentence about
it, and the text up to a form feed; `--help-all` has everything."""

import re
from typing import Any

import click

_ALL = "gpufleet.help_all"


class ScreenCommand(click.Command):
    """A command whose `--help` shows the options of `first` only.

    Args:
        first: Names of parameters of the function.
    """

    def __init__(self, *arguments: Any, first: tuple[str, ...], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._first = frozenset(first)
        unknown = self._first - {parameter.name for parameter in self.params}
        if unknown:
            raise ValueError(f"no such options: {', '.join(sorted(unknown))}")

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's options, and `--help-all` before `--help`."""
        *own, help_ = super().get_params(ctx)
        every = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Show every option and exit.",
        )
        return [*own, every, help_]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Called for the part `Options` of the help."""
        shown = [
            record if ctx.meta.get(_ALL) else (record[0], re.split(r"(?<=\.)\s|;\s", record[1])[0])
            for parameter in self.get_params(ctx)
            if (record := parameter.get_help_record(ctx)) is not None
            and (
                ctx.meta.get(_ALL) or parameter not in self.params or parameter.name in self._first
            )
        ]
        with formatter.section("Options"):
            formatter.write_dl(shown)


def _show_all(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    del option
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        first, ctx.command.help = ctx.command.help, (ctx.command.help or "").replace("\f", "")
        click.echo(ctx.get_help())
        ctx.command.help = first
        ctx.exit()
