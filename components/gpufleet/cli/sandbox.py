"""`gpufleet sandbox`: the command of gpufleet-sandbox, or how to install it."""

import sys

import click

from gpufleet.sandbox_distribution import COMMANDS, SandboxUnavailableError, sandbox_part

_ANY_ARGUMENTS = {"ignore_unknown_options": True, "allow_extra_args": True}


def _unavailable(reason: SandboxUnavailableError) -> click.Command:
    """A command that accepts any arguments, prints the reason and exits 2."""

    @click.command("sandbox", add_help_option=False, context_settings=_ANY_ARGUMENTS)
    def say_reason() -> None:
        click.echo(f"gpufleet: {reason}", err=True)
        sys.exit(2)

    return say_reason


def _command() -> click.Command:
    try:
        return sandbox_part(COMMANDS)
    except SandboxUnavailableError as reason:
        return _unavailable(reason)


command = _command()
