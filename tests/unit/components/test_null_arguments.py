"""A null argument: a needed one is reported as missing, an optional one has its default."""

from typing import Any

import pytest

import gpufleet
from gpufleet.components_base.inputs import InvalidArgumentsError

ROLE = "arn:aws:iam::123456789012:role/nodes"
POOL = {"name": "chat", "gpu": "L4", "nodes": {"min": 1, "max": 2}}
CONNECTION = {"infrastructure_name": "lab", "server": "vc", "datacenter": "dc", "network": "vms"}
KARPENTER = {"catalogue": "2026.11", "cluster_name": "ml", "region": "us-east-1"}
EKS = {**KARPENTER, "pool": POOL, "node_role_arn": ROLE, "subnet_ids_by_zone": {}}
MACHINE = {"template": "rhcos", "cpus": 8, "memoryGib": 64}
OPENSHIFT = {"catalogue": "2026.11", "pool": {**POOL, "openshift": MACHINE}}


@pytest.mark.parametrize(
    ("component", "arguments", "place"),
    [
        ("EksGpuNodeGroup", {**EKS, "catalogue": None}, "catalogue"),
        ("Keda", {"catalogue": None}, "catalogue"),
        ("GpuFleet", {"spec": None}, "spec"),
        *(
            (
                "OpenShiftGpuMachineSet",
                {**OPENSHIFT, "connection": {**CONNECTION, name: None}},
                f"connection.{name}",
            )
            for name in ("server", "network")
        ),
    ],
)
def test_a_needed_argument_that_is_null_is_missing(
    component: str, arguments: dict[str, Any], place: str
) -> None:
    with pytest.raises(InvalidArgumentsError) as refused:
        getattr(gpufleet, component)("one", arguments)
    assert [(one.code, one.path) for one in refused.value.findings] == [("argument-missing", place)]
    assert all(one.fix for one in refused.value.findings)


@pytest.mark.parametrize(
    ("component", "arguments"),
    [
        ("Keda", {}),
        ("NimOperator", {}),
        ("NeuronDevicePlugin", {}),
        ("EfaDevicePlugin", {"instance_types": ["p5.48xlarge"]}),
    ],
)
def test_null_values_of_a_chart_are_no_values(
    plain_run: Any, component: str, arguments: dict[str, Any]
) -> None:
    def registered(values: object) -> list[Any]:
        given = {"catalogue": "2026.11", **arguments, "values": values}
        run = plain_run(lambda: getattr(gpufleet, component)("one", given))
        return [(one.type, one.name, one.inputs) for one in run.resources]

    assert registered(None) == registered({})


def test_the_node_role_of_karpenter_is_an_arn() -> None:
    given: Any = {**KARPENTER, "node_role_arn": "nodes"}
    with pytest.raises(InvalidArgumentsError, match="'nodes' is not an ARN") as refused:
        gpufleet.Karpenter("karpenter", given)
    assert [one.code for one in refused.value.findings] == ["connection-no-role-arn"]


@pytest.mark.parametrize("value", [True, ["2026.11"], {"edition": "2026.11"}])
def test_what_is_no_text_is_named(value: object) -> None:
    given: Any = {"catalogue": value}
    with pytest.raises(InvalidArgumentsError) as refused:
        gpufleet.Keda("one", given)
    (found,) = refused.value.findings
    assert (found.code, found.path) == ("argument-invalid", "catalogue")
    assert found.message == f"a text is wanted, found {type(value).__name__}"
