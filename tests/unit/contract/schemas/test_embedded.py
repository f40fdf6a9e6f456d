"""Embedded fields of a MachineSet: refusals of OpenShift's webhook, and an unknown field, which it
ignores (openshift/machine-api-operator `pkg/webhooks/machine_webhook.go`: `unmarshalInto`,
`validateAWS`, `validateGCP`, `validateVSphere`, `validateUnknownFields`)."""

from typing import Any

import pytest

from gpufleet.contract.schemas.problems import SchemaProblemKind
from gpufleet.contract.schemas.validator import schema_problems

AT = "spec.template.spec.providerSpec.value"


def machine_set(value: dict[str, Any]) -> dict[str, Any]:
    template = {"spec": {"providerSpec": {"value": value}}}
    return {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": {"name": "gpu"},
        "spec": {"replicas": 1, "selector": {}, "template": template},
    }


AWS = {
    "apiVersion": "awsproviderconfig.openshift.io/v1beta1",
    "kind": "AWSMachineProviderConfig",
    "ami": {"id": "ami-0aaaaaaaaaaaaaaaa"},
}
GCP = {
    "apiVersion": "machine.openshift.io/v1beta1",
    "kind": "GCPMachineProviderSpec",
    "region": "us-central1",
    "zone": "us-central1-a",
}
VSPHERE = {
    "apiVersion": "machine.openshift.io/v1beta1",
    "kind": "VSphereMachineProviderSpec",
    "template": "rhcos-422-l4",
    "workspace": {"server": "vcenter.example.com", "datacenter": "DC1"},
    "network": {"devices": [{"networkName": "machines"}]},
}
TYPE, CHOICE, UNKNOWN = SchemaProblemKind.TYPE, SchemaProblemKind.CHOICE, SchemaProblemKind.UNKNOWN
BOUND, REQUIRED = SchemaProblemKind.BOUND, SchemaProblemKind.REQUIRED
CONDITION = SchemaProblemKind.CONDITION
AGENT = {"email": "gpu@acme.iam.gserviceaccount.com", "scopes": ["cloud-platform"]}


@pytest.mark.parametrize(
    ("value", "kind", "path"),
    [
        ({**AWS, "publicIp": "true"}, TYPE, ".publicIp"),
        ({**AWS, "instanceType": 5}, TYPE, ".instanceType"),
        ({**AWS, "ami": {"id": "a", "ids": "a"}}, UNKNOWN, ".ami.ids"),
        ({**AWS, "networkInterfaceType": "efa"}, CHOICE, ".networkInterfaceType"),
        (
            {**AWS, "metadataServiceOptions": {"authentication": "required"}},
            CHOICE,
            ".metadataServiceOptions.authentication",
        ),
        ({**AWS, "placement": {"tenancy": "shared"}}, CHOICE, ".placement.tenancy"),
        ({**AWS, "ami": {"arn": "a"}}, REQUIRED, ".ami.id"),
        ({**GCP, "gpus": [{"type": "nvidia-tesla-t4", "count": "1"}]}, TYPE, ".gpus[0].count"),
        ({**GCP, "onHostMaintenance": "TERMINATE"}, CHOICE, ".onHostMaintenance"),
        ({**GCP, "region": ""}, BOUND, ".region"),
        ({**GCP, "zone": "europe-west4-a"}, CONDITION, ""),
        ({**GCP, "disks": [{"sizeGb": 8}]}, CONDITION, ".disks[0]"),
        ({**GCP, "disks": [{"type": "hyperdisk"}]}, CHOICE, ".disks[0].type"),
        ({**GCP, "serviceAccounts": [AGENT, AGENT]}, BOUND, ".serviceAccounts"),
        ({**GCP, "serviceAccounts": [{"email": "a"}]}, REQUIRED, ".serviceAccounts[0].scopes"),
        ({**GCP, "gpus": [{"type": "nvidia-tesla-a100"}]}, CONDITION, ".gpus[0]"),
        (
            {**GCP, "machineType": "a2-highgpu-1g", "gpus": [{"type": "nvidia-tesla-t4"}]},
            CONDITION,
            "",
        ),
        ({**GCP, "machineType": "a2-highgpu-1g", "onHostMaintenance": "Migrate"}, CONDITION, ""),
        ({**VSPHERE, "numCPUs": "8"}, TYPE, ".numCPUs"),
        ({**VSPHERE, "template": ""}, BOUND, ".template"),
        ({**VSPHERE, "network": {"devices": []}}, BOUND, ".network.devices"),
        ({**VSPHERE, "network": {"devices": [{}]}}, REQUIRED, ".network.devices[0].networkName"),
        ({**VSPHERE, "workspace": {"datacenter": "DC1"}}, REQUIRED, ".workspace.server"),
        (
            {**VSPHERE, "workspace": {**VSPHERE["workspace"], "folder": "gpu"}},
            CONDITION,
            ".workspace",
        ),
        ({**VSPHERE, "userDataSecret": {"name": ""}}, BOUND, ".userDataSecret.name"),
    ],
)
def test_one_wrong_field(value: dict[str, Any], kind: SchemaProblemKind, path: str) -> None:
    assert [(one.kind, one.path) for one in schema_problems(machine_set(value))] == [
        (kind, f"{AT}{path}")
    ]


@pytest.mark.parametrize(
    ("value", "missing"),
    [
        (AWS, ["ami"]),
        (GCP, ["region", "zone"]),
        (VSPHERE, ["template", "workspace", "network"]),
    ],
)
def test_what_the_webhook_asks_for(value: dict[str, Any], missing: list[str]) -> None:
    assert schema_problems(machine_set(value)) == ()
    without = {name: one for name, one in value.items() if name not in missing}
    found = {(one.kind, one.path) for one in schema_problems(machine_set(without))}
    assert found == {(REQUIRED, f"{AT}.{name}") for name in missing}


def test_what_the_webhook_fills_in_or_takes_may_be_absent() -> None:
    for value in (AWS, {**GCP, "disks": [{"sizeGb": 0}]}, {**GCP, "disks": [{"sizeGb": 16}]}):
        assert schema_problems(machine_set(value)) == ()
    assert schema_problems(machine_set({"kind": "AzureMachineProviderSpec", "vmSize": 1})) == ()
    machine = {**machine_set({}), "kind": "Machine", "spec": {"providerSpec": {"value": AWS}}}
    assert schema_problems(machine) == ()
    machine["spec"]["providerSpec"]["value"] = {**AWS, "deviceIndex": "0"}
    assert [one.path for one in schema_problems(machine)] == ["spec.providerSpec.value.deviceIndex"]
