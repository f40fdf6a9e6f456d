import sys

import click

from gpufleet.cli.output import UnreadableInputError
from tools.catalogue.command import command

try:
    command(prog_name="python -m tools.catalogue")
except UnreadableInputError as problem:
    click.echo(f"catalogue: {problem}", err=True)
    sys.exit(2)
