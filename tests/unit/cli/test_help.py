"""Help on one screen: families of commands, the options that people use first, then the rest."""

import importlib
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from gpufleet.cli import FAMILIES, _program, commands
from gpufleet.cli.help_screen import ScreenCommand

SCREEN = 40
"""Lines of a terminal of 80 columns."""


def screen_lines(text: str) -> int:
    """Lines as a terminal of 80 columns shows them: longer ones are broken."""
    return sum(max(1, -(-len(line) // 80)) for line in text.splitlines())


def command(name: str) -> click.Command:
    return importlib.import_module(commands()[name].module).command


def helped(name: str, option: str = "--help") -> str:
    done = CliRunner().invoke(command(name), [option], terminal_width=80)
    assert done.exit_code == 0, done.output
    return done.output


def leaves(name: str, one: click.Command) -> Iterator[str]:
    """The command, and those below it where it is a group."""
    yield name
    for inner in one.commands if isinstance(one, click.Group) else ():
        yield f"{name} {inner}"


EVERY = [leaf for name in sorted(commands()) for leaf in leaves(name, command(name))]


@pytest.mark.parametrize("name", EVERY)
def test_help_fits_one_screen(name: str) -> None:
    first, *inner = name.split()
    done = CliRunner().invoke(command(first), [*inner, "--help"], terminal_width=80)
    assert done.exit_code == 0, done.output
    assert screen_lines(done.output) <= SCREEN


@pytest.mark.parametrize(
    "name", [one for one in sorted(commands()) if isinstance(command(one), click.Group)]
)
def test_the_list_of_a_group_has_whole_sentences(name: str) -> None:
    rows = helped(name).partition("Commands:")[2].splitlines()
    assert [row for row in rows if row.endswith("...")] == []


def test_seven_families_are_on_one_screen() -> None:
    text = CliRunner().invoke(_program, ["--help"], terminal_width=80).output
    assert [one.capitalize() for one in FAMILIES if f"  {one.capitalize()}: " not in text] == []
    assert len(FAMILIES) == 7
    assert screen_lines(text) <= SCREEN + 6  # 22 commands, a line each, and the families


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
