"""The exit status that the program gives what a command of it did in a test."""

from click.testing import Result

from gpufleet.cli.output import UnreadableInputError


def exit_status(result: Result) -> int:
    """2 if the command reports that its input cannot be used: `gpufleet.cli.main` ends so."""
    return 2 if isinstance(result.exception, UnreadableInputError) else result.exit_code
