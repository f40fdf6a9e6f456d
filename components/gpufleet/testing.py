"""Mocks for unit tests of programs that use gpufleet: no engine, no cloud, no cluster.

    from gpufleet.testing import use_mocks

    made = use_mocks()  # before the program registers anything

    @pulumi.runtime.test
    def test_pool():
        EksGpuNodeGroup("chat", {...})

`docs/test-your-program.md` has a complete test. The components also work with the plain mocks of
Pulumi's documentation; these mocks also return outputs of the cloud, and record every resource.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pulumi.runtime
from pulumi.runtime.mocks import MockCallArgs, MockResourceArgs, Mocks
from pulumi.runtime.stack import wait_for_rpcs

_OUTPUTS = Path(__file__).with_name("testing_outputs.json")
MADE: dict[str, dict[str, Any]] = json.loads(_OUTPUTS.read_bytes())
"""Type of a resource -> outputs that the cloud sets. Inputs of that name have precedence."""
ANSWERED: dict[str, dict[str, Any]] = {"aws:eks/getNodeGroups:getNodeGroups": {"names": []}}
"""Function -> its result in an empty cloud."""


@dataclass(frozen=True, slots=True)
class MadeResource:
    """A resource that the program registered."""

    type: str
    """Such as `aws:eks/nodeGroup:NodeGroup`."""
    name: str
    inputs: Mapping[str, Any]
    """In the spelling of the provider's schema, camelCase."""


@dataclass
class RecordingMocks(Mocks):
    """Each resource returns its inputs and the entry of its type in `MADE`, and is recorded."""

    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Function -> its result, before `ANSWERED`. Any other function returns an empty result."""
    stacks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Name of another stack -> its outputs, for a StackReference. Any other stack has none."""
    resources: list[MadeResource] = field(default_factory=list[MadeResource])

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        """Called by the SDK for each resource."""
        inputs = cast("dict[str, Any]", args.inputs)  # pyright: ignore[reportUnknownMemberType]
        self.resources.append(MadeResource(args.typ, args.name, inputs))
        known: dict[str, Any] = {**MADE.get(args.typ, {}), **inputs}
        if args.typ == "aws:eks/cluster:Cluster":
            network = {"clusterSecurityGroupId": "made-group"}
            known["vpcConfig"] = {**known.get("vpcConfig", {}), **network}
        if args.typ == "pulumi:pulumi:StackReference":
            known["outputs"] = dict(self.stacks.get(str(inputs.get("name")), {}))
        if args.typ == "gcp:serviceaccount/account:Account":
            known["email"] = f"{known.get('accountId')}@{known.get('project')}.example"
        return f"{args.name}-id", known

    def call(self, args: MockCallArgs) -> Any:
        """Called by the SDK for each function of a provider."""
        return dict(self.answers.get(args.token, ANSWERED.get(args.token, {})))

    def all(self, type_: str) -> list[MadeResource]:
        """The resources of a type, in the order of registration. Outside of an `apply` it waits for
        resources that the program still registers, and raises their errors."""
        loop = asyncio.get_event_loop()
        if not loop.is_running():
            loop.run_until_complete(wait_for_rpcs())
        return [one for one in self.resources if one.type == type_]

    def one(self, type_: str) -> MadeResource:
        """The only resource of a type. Raises LookupError with the types that were registered."""
        found = self.all(type_)
        if len(found) != 1:
            types = sorted({one.type for one in self.resources})
            raise LookupError(f"{len(found)} resources of the type {type_}; registered are {types}")
        return found[0]


def use_mocks(
    *,
    project: str = "project",
    stack: str = "test",
    preview: bool = False,
    answers: Mapping[str, Mapping[str, Any]] | None = None,
    stacks: Mapping[str, Mapping[str, Any]] | None = None,
) -> RecordingMocks:
    """Replace the engine by mocks for all resources that are registered after this call.

    Args:
        project: Name of the project that the program reads. Default `project`.
        stack: Name of the stack that the program reads. Default `test`.
        preview: Value of `pulumi.runtime.is_dry_run()`. Default false: an update.
        answers: Function of a provider -> its result. Default: nothing exists yet.
        stacks: Name of another stack -> its outputs, for a StackReference. Default: none.
    """
    mocks = RecordingMocks(dict(answers or {}), dict(stacks or {}))
    pulumi.runtime.set_mocks(mocks, project=project, stack=stack, preview=preview)
    return mocks
