"""Hardened images: what NVIDIA's government-ready pages and EKS' node images allow.

Expected images, versions, Secrets and exclusions are those of NVIDIA/cloud-native-docs 365978c
`gpu-operator/install-gpu-operator-gov-ready.rst` and of its page for the Network Operator; node
images in FIPS mode those of Bottlerocket's page `fips-modules` (read 2026-11-23).
"""

from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data
from gpufleet.render.artefacts import artefacts
from gpufleet.render.mirror import mirror_list
from tests.reading import yaml_documents

L4: dict[str, Any] = {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 2}}
VSPHERE = {"cpus": 16, "memoryGib": 128, "template": "t", "networks": [{"network": "VM Network"}]}
GUEST = {"vgpu": {"profile": "grid_l4-24c", "licenseSecret": "licence"}}
SECRETS = {"imagePullSecret": "ngc-secret", "driver": {"secretEnv": "ubuntu-fips-secret"}}


def compiled(platform: str, pool: dict[str, Any] | None = None, **addons: Any) -> Any:
    own: dict[str, dict[str, Any]] = {
        "vsphere": {"nodes": {"min": 1, "max": 1}, "vsphere": VSPHERE},
        "openshift": {"nodes": {"min": 1, "max": 1}, "ownership": "existing"},
    }
    regions = {"eks": "us-east-1", "gke": "us-central1"}
    region = {"region": regions[platform]} if platform in regions else {}
    data = {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": {"name": "c", "kubernetesVersion": "1.35", **region},
        "pools": [{**L4, **own.get(platform, {}), **(pool or {})}],
        "addons": {"images": {"profile": "stigFips"}, **addons},
    }
    return compile_data(data)


def found(result: Any) -> dict[str, str]:
    return {f.path: f.code for f in result.findings if f.severity.value == "error"}


def objects(result: Any, ending: str) -> list[Any]:
    return [
        document
        for file in artefacts(result.fleet)
        if file.path.endswith(ending)
        for document in yaml_documents(file.text)
    ]


def test_the_documented_driver_is_installed_and_mirrored() -> None:
    result = compiled("vsphere", gpuOperator=SECRETS)
    assert found(result) == {}
    (values,) = objects(result, "values/gpu-operator.yaml")
    driver = values["driver"]
    assert driver["image"] == "gpu-driver-stig-fips"
    assert driver["version"] == "580.95.05-stig-fips"
    assert driver["secretEnv"] == "ubuntu-fips-secret"
    images = {one.source for one in mirror_list(result.fleet, ["ubuntu24.04"]).images}
    assert "nvcr.io/nvidia/gpu-driver-stig-fips:580.95.05-stig-fips-ubuntu24.04" in images
    assert not any(image.startswith("nvcr.io/nvidia/driver:") for image in images)


def test_on_openshift_the_cluster_policy_has_all_three_parts_and_needs_no_ubuntu_token() -> None:
    result = compiled("openshift", gpuOperator={"imagePullSecret": "ngc-api-secret"})
    assert found(result) == {}
    (policy,) = [
        one for one in objects(result, ".yaml") if one and one.get("kind") == "ClusterPolicy"
    ]
    driver = policy["spec"]["driver"]
    assert {key: driver[key] for key in ("repository", "image", "version", "imagePullSecrets")} == {
        "repository": "nvcr.io/nvidia",
        "image": "gpu-driver-stig-fips",
        "version": "580.95.05-stig-fips",
        "imagePullSecrets": ["ngc-api-secret"],
    }


def test_eks_gets_the_fips_variant_of_bottlerocket() -> None:
    result = compiled("eks", {"sharing": {"timeSlicing": {"replicas": 4}}})
    assert found(result) == {}
    pool = result.fleet.pools[0]
    assert pool.image.key == "bottlerocket-nvidia-fips"
    assert pool.image.ami_types["amd64"] == "BOTTLEROCKET_x86_64_NVIDIA_FIPS"
    # Its own plugin shares: the choice reaches everything that uses the image.
    assert pool.served_by_platform


@pytest.mark.parametrize(
    ("platform", "pool", "addons", "expected"),
    [
        ("eks", {"image": "al2023-nvidia"}, {}, {"pools[0].image": "image-not-fips"}),
        ("eks", {"image": "bottlerocket-nvidia"}, {}, {"pools[0].image": "image-not-fips"}),
        ("eks", {"image": "al2023-nvidia", "eks": {"amiId": "ami-0123456789abcdef0"}}, {}, {}),
        (
            "eks",
            {"provisioner": "karpenter"},
            {},
            {"pools[0].image": "karpenter-image-without-alias"},
        ),
        ("gke", {}, {}, {"pools[0].image": "image-not-fips"}),
        (
            "vsphere",
            {},
            {},
            {
                "addons.gpuOperator.imagePullSecret": "hardened-secret-missing",
                "addons.gpuOperator.driver.secretEnv": "hardened-secret-missing",
            },
        ),
        (
            "vsphere",
            {},
            {
                "images": {"profile": "stigFips", "registry": "registry.example.com"},
                "gpuOperator": {"driver": {"repoConfig": "packages"}},
            },
            {},
        ),
        (
            "vsphere",
            {},
            {"gpuOperator": {**SECRETS, "gds": {"enabled": True}, "gdrcopy": {"enabled": True}}},
            {
                "addons.gpuOperator.gds.enabled": "hardened-image-missing",
                "addons.gpuOperator.gdrcopy.enabled": "hardened-image-missing",
            },
        ),
        (
            "vsphere",
            {},
            {"gpuOperator": {**SECRETS, "values": {"driver": {"version": "580.95.05"}}}},
            {"addons.gpuOperator.values.driver.version": "hardened-driver-image"},
        ),
        (
            "vsphere",
            {},
            {
                "gpuOperator": {
                    "imagePullSecret": "s",
                    "driver": {"secretEnv": "t", "version": "580.105.08-stig-fips"},
                }
            },
            {},
        ),
        (
            "vsphere",
            {},
            {"gpuOperator": SECRETS, "networkOperator": {"enabled": True, "ofed": "operator"}},
            {"addons.networkOperator.policy.ofedDriver.env": "hardened-secret-missing"},
        ),
    ],
)
def test_what_breaks_the_profile_is_refused(
    platform: str, pool: dict[str, Any], addons: dict[str, Any], expected: dict[str, str]
) -> None:
    assert found(compiled(platform, pool, **addons)) == expected


def test_vgpu_guests_have_no_hardened_driver() -> None:
    pool = {"vsphere": {**VSPHERE, "attachment": "vgpu"}, "sharing": GUEST}
    driver = {"repository": "registry.example.com/p", "secretEnv": "s"}
    result = compiled("vsphere", pool, gpuOperator={"driver": driver})
    assert found(result)["pools[0].sharing.vgpu"] == "hardened-image-missing"


def test_doca_ofed_is_the_hardened_container() -> None:
    token = {"name": "UBUNTU_PRO_TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    result = compiled(
        "vsphere",
        gpuOperator=SECRETS,
        networkOperator={
            "enabled": True,
            "ofed": "operator",
            "policy": {"ofedDriver": {"env": [token]}},
        },
    )
    assert found(result) == {}
    (policy,) = [
        one for one in objects(result, ".yaml") if one and one.get("kind") == "NicClusterPolicy"
    ]
    assert policy["spec"]["ofedDriver"]["image"] == "doca-driver-stig-fips"
    assert policy["spec"]["ofedDriver"]["env"] == [token]


@pytest.mark.parametrize(
    ("platform", "words"),
    [("vsphere", "Ubuntu Pro's FIPS kernel"), ("eks", "custom AMI")],
)
def test_what_cannot_be_seen_is_named(platform: str, words: str) -> None:
    own = (
        {"image": "ubuntu-eks", "eks": {"amiId": "ami-0123456789abcdef0"}}
        if platform == "eks"
        else {}
    )
    result = compiled(platform, own, gpuOperator=SECRETS)
    (said,) = [f for f in result.findings if f.code == "fips-mode-not-known"]
    assert words in said.message
    assert "/proc/sys/crypto/fips_enabled" in said.fix


def test_without_the_profile_nothing_is_hardened() -> None:
    result = compiled("eks", images={})
    assert result.fleet.pools[0].image.key == "al2023-nvidia"
    assert not [f for f in result.findings if "fips" in f.code or "hardened" in f.code]
