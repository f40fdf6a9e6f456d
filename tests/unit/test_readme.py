"""The first screen of README.md is what the program prints, and the first answer needs one file."""

import re
from pathlib import Path

import yaml
from click.testing import CliRunner

from gpufleet.cli.explain import command as explain
from gpufleet_policies.commands.audit import command as audit

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "first-answer"


def shown(command: str) -> list[str]:
    """The lines that README shows under a command."""
    found = re.search(rf"^    \$ {re.escape(command)}\n(.*?)(?=^    \$|^$)", README, re.M | re.S)
    assert found is not None
    return [line.strip() for line in found[1].splitlines()]


def test_the_first_screen_has_what_it_is_for() -> None:
    screen = "\n".join(README.splitlines()[:28])
    for part in ("refused while it is a file", "pools:", "gpufleet explain", "USD per month", "up"):
        assert part in screen


def test_its_fleet_is_that_of_the_example() -> None:
    (first, *_) = re.findall(r"```yaml\n(.*?)```", README, re.S)
    assert yaml.safe_load(first) == yaml.safe_load((EXAMPLE / "fleet.yaml").read_text())


def test_the_program_prints_what_is_shown() -> None:
    drawn = CliRunner().invoke(explain, [str(EXAMPLE / "fleet.yaml")])
    printed = {line.strip() for line in drawn.stdout.splitlines()}
    assert [line for line in shown("gpufleet explain fleet.yaml") if line not in printed] == []
    found = CliRunner().invoke(audit, [str(EXAMPLE / "notebook.yaml"), "--profile", "prod"])
    printed = {line.strip() for line in found.stdout.splitlines()}
    assert [line for line in shown("gpufleet audit notebook.yaml") if line not in printed] == []
