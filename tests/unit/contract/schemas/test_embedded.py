"""What a MachineSet embeds: wrong types and enumerations are what the webhook of OpenShift refuses,
an unknown field is what it ignores (openshift/machine-api-operator
`pkg/webhooks/machine_webhook.go`: `unmarshalInto`, `validateAWS`, `validateUnknownFields`)."""

from typing import Any

import pytest

from gpufleet.contract.schemas import SchemaProblemKind, schema_problems

AT = "spec.template.spec.providerSpec.value"


def machine_set(value: dict[str, Any]) -> dict[str, Any]:
    template = {"spec": {"providerSpec": {"value": value}}}
    return {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": {"name": "gpu"},
        "spec": {"replicas": 1, "selector": {}, "template": template},
    }


AWS = {"apiVersion": "awsproviderconfig.openshift.io/v1beta1", "kind": "AWSMachineProviderConfig"}
GCP = {"apiVersion": "machine.openshift.io/v1beta1", "kind": "GCPMachineProviderSpec"}
VSPHERE = {"apiVersion": "machine.openshift.io/v1beta1", "kind": "VSphereMachineProviderSpec"}


@pytest.mark.parametrize(
    ("value", "kind", "path"),
    [
        ({**AWS, "publicIp": "true"}, SchemaProblemKind.TYPE, "publicIp"),
        ({**AWS, "instanceType": 5}, SchemaProblemKind.TYPE, "instanceType"),
        ({**AWS, "ami": {"ids": "a"}}, SchemaProblemKind.UNKNOWN, "ami.ids"),
        ({**AWS, "networkInterfaceType": "efa"}, SchemaProblemKind.CHOICE, "networkInterfaceType"),
        (
            {**AWS, "metadataServiceOptions": {"authentication": "required"}},
            SchemaProblemKind.CHOICE,
            "metadataServiceOptions.authentication",
        ),
        ({**GCP, "gpus": [{"count": "1"}]}, SchemaProblemKind.TYPE, "gpus[0].count"),
        ({**GCP, "onHostMaintenance": "TERMINATE"}, SchemaProblemKind.CHOICE, "onHostMaintenance"),
        ({**VSPHERE, "numCPUs": "8"}, SchemaProblemKind.TYPE, "numCPUs"),
        ({**VSPHERE, "network": {"device": []}}, SchemaProblemKind.UNKNOWN, "network.device"),
    ],
)
def test_one_wrong_field(value: dict[str, Any], kind: SchemaProblemKind, path: str) -> None:
    assert [(one.kind, one.path) for one in schema_problems(machine_set(value))] == [
        (kind, f"{AT}.{path}")
    ]


def test_what_the_webhook_fills_in_may_be_absent() -> None:
    for value in (AWS, GCP, VSPHERE, {"kind": "AzureMachineProviderSpec", "vmSize": 1}):
        assert schema_problems(machine_set(value)) == ()
    machine = {**machine_set({}), "kind": "Machine", "spec": {"providerSpec": {"value": AWS}}}
    assert schema_problems(machine) == ()
    machine["spec"]["providerSpec"]["value"] = {**AWS, "deviceIndex": "0"}
    assert [one.path for one in schema_problems(machine)] == ["spec.providerSpec.value.deviceIndex"]
