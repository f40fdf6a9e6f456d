"""The scenario of a test: calls that fail, wait or hang, and answers of look-ups.

    rules:
    - {operation: create, type: "aws:eks/nodeGroup:NodeGroup", name: "*training*", nth: 1,
       then: fail, message: "InsufficientInstanceCapacity: ..."}
    answers:
    - {function: "aws:ec2/getSubnet:getSubnet", arguments: {id: subnet-1}, result: {vpcId: vpc-1}}

The file is read at each call, so a test may change it while the engine runs.
"""

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

Operation = Literal["check", "diff", "create", "read", "update", "delete", "invoke", "*"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Disturbance(_Part):
    """One disturbance. Patterns are shell patterns."""

    operation: Operation
    type: str = "*"
    """Token of a resource, or of a function for `invoke`."""
    name: str = "*"
    """Name of the resource in the program."""
    nth: int | None = Field(default=None, ge=1)
    """Only the n-th matching call since the rule was written, counted over all engine runs.
    Default: every one."""
    then: Literal["fail", "fail-after", "slow", "hang"]
    """`fail`: nothing happens and an error comes back. `fail-after`: the change is made, and the
    provider reports that it did not become ready. `slow`: it takes `seconds` longer. `hang`: it
    does not return until the engine cancels, or `seconds` are over."""
    message: str = "the scenario says so"
    seconds: float = Field(default=0, ge=0)

    def matches(self, operation: str, token: str, name: str) -> bool:
        """Whether the rule is about this call."""
        return (
            self.operation in ("*", operation)
            and fnmatchcase(token, self.type)
            and fnmatchcase(name, self.name)
        )


class LookupAnswer(_Part):
    """Result of a look-up."""

    function: str
    arguments: dict[str, Any] = {}
    """Arguments that the answer is for; other arguments may have any value."""
    result: dict[str, Any]


class Scenario(_Part):
    """The whole file."""

    rules: tuple[Disturbance, ...] = ()
    answers: tuple[LookupAnswer, ...] = ()


class ScenarioError(Exception):
    """The scenario file cannot be read; the text names the place."""


def read_scenario(path: Path) -> Scenario:
    """The scenario, or an empty one when there is no file.

    Raises:
        ScenarioError: the file is not valid YAML, or not a scenario.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Scenario()
    try:
        return Scenario.model_validate(yaml.safe_load(text) or {})
    except (yaml.YAMLError, ValidationError) as problem:
        raise ScenarioError(f"{path} is not a scenario: {problem}") from problem


def write_scenario(path: Path, scenario: Scenario) -> None:
    """Replace the file in one step."""
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(scenario.model_dump(mode="json"), indent=1), encoding="utf-8")
    fresh.replace(path)
