"""Help on one screen: families of commands, the options that people use first, then the rest."""

import importlib

import click
import pytest
from click.testing import CliRunner

from gpufleet.cli import FAMILIES, commands
from gpufleet.cli.help_screen import ScreenCommand

SCREEN = 56
"""Lines of a terminal on a laptop."""


def command(name: str) -> click.Command:
    return importlib.import_module(commands()[name].module).command


def helped(name: str, option: str = "--help") -> str:
    done = CliRunner().invoke(command(name), [option], terminal_width=80)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("name", sorted(commands()))
def test_help_fits_one_screen(name: str) -> None:
    assert len(helped(name).splitlines()) <= SCREEN


def test_every_command_is_in_a_family() -> None:
    assert {row.family for row in commands().values()} <= {*FAMILIES, ""}
    assert all(len(row.line) <= 66 for row in commands().values())


@pytest.mark.parametrize(
    "name", [name for name in sorted(commands()) if isinstance(command(name), ScreenCommand)]
)
def test_the_rest_is_shown_on_request(name: str) -> None:
    first, every = helped(name), helped(name, "--help-all")
    options = [
        one.opts[0]
        for one in command(name).params
        if isinstance(one, click.Option) and not one.hidden
    ]
    assert [one for one in options if one not in every] == []
    assert [one for one in options if f"{one} " not in first], "nothing is left for --help-all"


def test_a_first_option_must_exist() -> None:
    with pytest.raises(ValueError, match="no such options: spelt_wrong"):
        ScreenCommand("x", params=[], first=("spelt_wrong",))
