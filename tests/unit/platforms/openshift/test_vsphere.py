"""MachineSets on vSphere: data disks, adapters, static addresses and failure domains, as
`VSphereMachineProviderSpec` has them, and sizes that are left to the autoscaler."""

from typing import Any

import pytest

from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.platforms.openshift.machine_clouds import CLOUDS, zones_of
from gpufleet.platforms.openshift.machine_set import machine_set_plan
from gpufleet.platforms.openshift.machine_set_manifest import machine_set
from gpufleet.render.artefacts import artefacts
from gpufleet.spec.base import Platform
from tests.reading import yaml_documents
from tests.unit.platforms.openshift import clouds
from tests.unit.platforms.openshift.fleets import CHAT, MACHINE, fleet
from tests.unit.platforms.openshift.test_rules import CLAIMED, FIXED, OTHER

CONNECTION: dict[str, Any] = {
    "infrastructureName": "lab-x7k2p",
    "server": "vcenter.example.com",
    "datacenter": "DC1",
    "network": "machines",
    "folder": "/DC1/vm/lab-x7k2p",
    "failureDomains": {
        "rack-a": {"resourcePool": "/DC1/host/a/Resources", "network": "a"},
        "rack-b": {
            "datacenter": "DC2",
            "folder": "/DC2/vm/lab-x7k2p",
            "datastore": "/DC2/datastore/nvme",
            "vmGroup": "rack-b-machines",
        },
    },
}
DISKS = [
    {"name": "models", "sizeGib": 500, "format": "eagerZeroed"},
    {"name": "scratch", "sizeGib": 100},
]


def sets(pool: dict[str, Any]) -> list[dict[str, Any]]:
    """The sets of a pool, which have no schema of the vendor."""
    made = fleet(pool)
    (one,) = made.pools
    place = CLOUDS[Platform.OPENSHIFT].place(CONNECTION, made.spec)
    found = [machine_set(one, "lab", place, zone) for zone in zones_of(one)]
    assert [problem for document in found for problem in schema_problems(document)] == []
    return found


def provider(document: dict[str, Any]) -> dict[str, Any]:
    return document["spec"]["template"]["spec"]["providerSpec"]["value"]


def test_data_disks_are_as_the_machine_api_names_them() -> None:
    (made,) = sets({**CHAT, "openshift": {**MACHINE, "extraDisks": DISKS}})
    assert provider(made)["dataDisks"] == [
        {"name": "models", "sizeGiB": 500, "provisioningMode": "EagerlyZeroed"},
        {"name": "scratch", "sizeGiB": 100},
    ]
    assert "dataDisks" not in provider(sets(CHAT)[0])


def test_adapters_of_a_pool_replace_that_of_the_connection() -> None:
    (made,) = sets({**CHAT, "openshift": {**MACHINE, "networks": [*CLAIMED, *OTHER]}})
    assert provider(made)["network"]["devices"] == [
        {
            "networkName": "a",
            "addressesFromPools": [
                {"group": "ipam.cluster.x-k8s.io", "resource": "inclusterippools", "name": "gpu"}
            ],
            "nameservers": ["10.0.0.2"],
        },
        {"networkName": "b"},
    ]
    one = {"min": 1, "max": 1}
    (fixed,) = sets({**CHAT, "nodes": one, "openshift": {**MACHINE, "networks": FIXED}})
    assert provider(fixed)["network"]["devices"] == [
        {"networkName": "a", "ipAddrs": ["10.0.0.10/24"], "gateway": "10.0.0.1"}
    ]


def test_a_misspelt_field_is_what_the_schema_refuses() -> None:
    (made,) = sets({**CHAT, "openshift": {**MACHINE, "extraDisks": DISKS}})
    provider(made)["dataDisks"][0]["sizeGib"] = 1
    assert [problem.path.rpartition(".")[2] for problem in schema_problems(made)] == ["sizeGib"]


def test_a_pool_has_a_set_in_each_failure_domain() -> None:
    first, second = sets({**CHAT, "nodes": {"min": 1, "max": 3}, "zones": ["rack-a", "rack-b"]})
    assert [one["spec"]["replicas"] for one in (first, second)] == [1, 0]
    assert first["metadata"]["name"].startswith("lab-chat-rack-a-")
    assert provider(first)["network"]["devices"] == [{"networkName": "a"}]
    assert provider(first)["workspace"] == {
        "server": "vcenter.example.com",
        "datacenter": "DC1",
        "folder": "/DC1/vm/lab-x7k2p",
        "resourcePool": "/DC1/host/a/Resources",
    }
    assert provider(second)["network"]["devices"] == [{"networkName": "machines"}]
    assert provider(second)["workspace"] == {
        "server": "vcenter.example.com",
        "datacenter": "DC2",
        "datastore": "/DC2/datastore/nvme",
        "folder": "/DC2/vm/lab-x7k2p",
        "vmGroup": "rack-b-machines",
    }


@pytest.mark.parametrize(
    ("zones", "changes", "code", "path"),
    [
        (["rack-c"], {}, "openshift-failure-domain-missing", "connection.failureDomains"),
        (
            ["rack-a"],
            {"rack-a": {"folder": "gpu"}},
            "openshift-folder-not-absolute",
            "connection.failureDomains.rack-a.folder",
        ),
        ([], {"rack-a": {"folder": "gpu"}}, None, None),
    ],
)
def test_the_connection_has_each_domain_that_a_pool_names(
    zones: list[str], changes: dict[str, Any], code: str | None, path: str | None
) -> None:
    made = fleet({**CHAT, "zones": zones})
    domains = {**CONNECTION["failureDomains"], **changes}
    given = {**CONNECTION, "failureDomains": domains}
    _, findings = machine_set_plan(made.pools[0], made.spec, given, "connection")
    assert [(one.code, one.path) for one in findings] == ([] if code is None else [(code, path)])


def _written(made: Any) -> list[dict[str, Any]]:
    return [
        document
        for file in artefacts(made)
        if file.path.startswith("manifests/openshift/")
        for document in yaml_documents(file.text)
        if document["kind"] == "MachineSet"
    ]


SCALED = {"min": 1, "max": 4}
FIXED_SIZE = {"min": 2, "max": 2}


@pytest.mark.parametrize(
    ("platform", "pool"),
    [
        (Platform.OPENSHIFT, CHAT),
        (Platform.OPENSHIFT, {**CHAT, "zones": ["rack-a", "rack-b"]}),
        (Platform.OPENSHIFT_AWS, clouds.AWS_CHAT),
        (Platform.OPENSHIFT_GCP, clouds.GCP_TURNS),
    ],
)
def test_files_leave_the_size_of_scaled_pools_to_the_autoscaler(
    platform: Platform, pool: dict[str, Any]
) -> None:
    """GitOps would put a size back at each sync, and end machines that the autoscaler made."""
    pool = {**pool, "zones": pool.get("zones", [])[:2]}

    def written(nodes: dict[str, int]) -> list[dict[str, Any]]:
        one = {**pool, "nodes": nodes}
        vsphere = platform is Platform.OPENSHIFT
        return _written(fleet(one) if vsphere else clouds.fleet(platform.value, one))

    scaled, fixed = written(SCALED), written(FIXED_SIZE)
    assert scaled
    assert all("replicas" not in one["spec"] for one in scaled)
    assert sum(one["spec"]["replicas"] for one in fixed) == 2
