"""Every shipped program and example registers its resources under the usual mocks.

Plain ones return the inputs, as in Pulumi's documentation; some return nothing, so that every
output is None; in a preview ids are unknown. Only a referenced stack has outputs.
"""

from pathlib import Path
from typing import Any

import pytest
from pulumi.runtime.mocks import MockCallArgs, MockResourceArgs, Mocks

from gpufleet.testing import RecordingMocks
from tests.examples import ALL
from tests.recorded.programs import OUTPUTS, programs
from tests.recorded.registrations import REFERENCE, run

PROGRAMS = programs()


class Plain(Mocks):
    """Inputs of each resource, and the outputs of other stacks."""

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        if args.typ == REFERENCE:
            return args.name, {"outputs": OUTPUTS, "secretOutputNames": []}
        return f"{args.name}-id", args.inputs

    def call(self, args: MockCallArgs) -> dict[Any, Any]:
        return {}


class Silent(Plain):
    """No resource has any output."""

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        id_, outputs = super().new_resource(args)
        return id_, outputs if args.typ == REFERENCE else {}


class Unknown(Plain):
    """No id is known."""

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        id_, outputs = super().new_resource(args)
        return (id_ if args.typ == REFERENCE else None), outputs


class Ready(RecordingMocks, Plain):
    """Those of `gpufleet.testing`."""

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        if args.typ == REFERENCE:
            return Plain.new_resource(self, args)
        return RecordingMocks.new_resource(self, args)


STAND_INS: tuple[type[Mocks], ...] = (Plain, Silent, Unknown, Ready)
TRIED = [
    (name, stand_in)
    for number, name in enumerate(PROGRAMS)
    for stand_in in (STAND_INS if ALL else STAND_INS[number % 4 :][:1])
]
"""Each program with one of them in turn; with all of them at night."""


@pytest.mark.parametrize(("name", "stand_in"), TRIED)
def test_it_registers_its_resources(name: str, stand_in: type[Mocks], tmp_path: Path) -> None:
    for kubeconfig in (".kube/lab", ".kube/ocp-lab", ".sandbox/kubeconfig"):
        (tmp_path / kubeconfig).parent.mkdir(exist_ok=True)
        (tmp_path / kubeconfig).write_text("")
    made = run(PROGRAMS[name], tmp_path, stand_in(), preview=stand_in is Unknown)
    assert made
