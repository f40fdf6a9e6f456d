"""The mirror has exactly the images and charts that charts and manifests name.

The oracle is the values file of each vendor's chart, next to the checkout (chart and version in its
name): Helm merges the fleet's values over it, and every image that is then enabled is found by the
walk below, which reads no row of the catalogue.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from gpufleet.catalogue import load
from gpufleet.cli.mirror import command
from gpufleet.render.fleet_release import FleetRelease
from gpufleet.render.mirror import mirror_list
from gpufleet.render.releases import releases
from tests.reading import yaml_data, yaml_documents
from tests.unit.render.mirror_fleets import MIRROR, SPECS, mirror_fleet

UPSTREAM = Path(__file__).parents[4] / "shared/reference/charts"
NODE_OS = "ubuntu24.04"
REGISTRY = re.compile(r"^([a-z0-9-]+\.)+[a-z]{2,}(:\d+)?(/|$)")
PUBLIC = re.compile(
    r"nvcr\.io|registry\.k8s\.io|ghcr\.io|public\.ecr\.aws|docker\.pkg\.dev|amazonaws"
)
SANDBOX_PARTS = ("vgpuDeviceManager", "vfioManager", "sandboxDevicePlugin")
SANDBOX_PARTS += ("kataSandboxDevicePlugin", "ccManager", "kataManager")
COMPLETED = ("nvidia/driver", "nvidia-fs", "gdrdrv")
"""Whose tag the GPU Operator completes by the node (`resolveDriverTag` of its
`controllers/object_controls.go`)."""


def laid_over(base: Any, over: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return {**base, **{key: laid_over(base.get(key), value) for key, value in over.items()}}


def upstream(release: FleetRelease) -> dict[str, Any]:
    path = UPSTREAM / f"{release.chart.name}-{release.version}.values.yaml"
    if not path.is_file():
        pytest.skip(f"no values of the vendor's chart next to the checkout: {path.name}")
    return laid_over(yaml_data(path.read_text()), release.values)


def switched_off(release: FleetRelease, values: dict[str, Any], key: str, part: Any) -> bool:
    """Whether a top-level section of a chart deploys nothing, as its templates read it."""
    if isinstance(part, dict) and part.get("enabled") is False:
        return True
    if release.chart.name == "gpu-operator":
        boxed = not values["sandboxWorkloads"]["enabled"]
        return (key in SANDBOX_PARTS and boxed) or key in ("draDriver", "kataManager")
    if release.chart.name == "network-operator":
        bundled = {
            "sriov-network-operator": "sriovNetworkOperator",
            "maintenance-operator-chart": "maintenanceOperator",
            "node-feature-discovery": "nfd",
        }
        return key in bundled and not values[bundled[key]]["enabled"]
    return release.chart.name == "kueue" and key == "kueueViz"


def named(part: Any, version: str) -> Iterator[str]:
    """Every image in values: registry and repository in up to three keys, tag or version."""
    if isinstance(part, list):
        for item in part:
            yield from named(item, version)
    if not isinstance(part, dict):
        return
    if "repository" in part:
        pieces = [part.get("registry"), part["repository"], part.get("image") or part.get("name")]
        repository = "/".join(piece for piece in pieces if piece)
        if REGISTRY.match(repository):
            yield f"{repository}:{part.get('version') or part.get('tag') or version}"
    for item in part.values():
        yield from named(item, version)


def images_of(release: FleetRelease) -> set[str]:
    values = upstream(release)
    kept = {
        key: part for key, part in values.items() if not switched_off(release, values, key, part)
    }
    app = release.chart.app_version
    if release.chart.name in ("nvidia-device-plugin", "dra-driver-nvidia-gpu"):
        app = f"v{app}"  # `fullimage` of both charts' `_helpers.tpl`
    found = set(named(kept, app))
    if release.chart.name == "kueue":
        # The published chart names the released image (README of chart kueue).
        found = {re.sub(r"^us-.*/k8s-staging-images/", "registry.k8s.io/", one) for one in found}
        found = {one.replace(":release-0.19", f":{app}") for one in found}
    if release.chart.name in ("gpu-operator", "nvidia-device-plugin") and (
        values["nfd"].get("enabled", True)
    ):
        chart = release.chart.dependencies["node-feature-discovery"]
        found.add(f"registry.k8s.io/nfd/node-feature-discovery:v{chart}")
    return {f"{one}-{NODE_OS}" if one.split(":")[0].endswith(COMPLETED) else one for one in found}


@pytest.mark.parametrize("name", SPECS)
def test_the_list_holds_what_the_charts_pull_and_nothing_else(name: str) -> None:
    fleet = mirror_fleet(name)
    found = mirror_list(fleet, [NODE_OS])
    read = [one for one in releases(fleet) if (UPSTREAM / _file(one)).is_file()]
    if not read:
        pytest.skip(f"no values of these charts next to the checkout: {name}")
    for release in read:
        listed = {one.source for one in found.images if release.chart.name in one.users}
        assert listed == images_of(release), release.chart.name


def _file(release: FleetRelease) -> str:
    return f"{release.chart.name}-{release.version}.values.yaml"


@pytest.mark.parametrize("name", [name for name in SPECS if name != "openshift"])
def test_with_a_mirror_no_reference_is_foreign(name: str) -> None:
    """Images of the list, and of the vendor's values with ours merged over them."""
    fleet = mirror_fleet(name, registry=MIRROR)
    found = mirror_list(fleet, [NODE_OS])
    assert all(one.target.startswith(f"{MIRROR}/") for one in found.images)
    for release in releases(fleet):
        if not (UPSTREAM / _file(release)).is_file():
            continue
        values = upstream(release)
        for key, part in values.items():
            if not switched_off(release, values, key, part):
                foreign = [one for one in named(part, "x") if not one.startswith(MIRROR)]
                assert foreign == [], (release.chart.name, key)


def test_the_path_of_an_image_stays() -> None:
    found = mirror_list(mirror_fleet("gke-device-plugin", registry=MIRROR))
    targets = {one.source: one.target for one in found.images}
    assert targets["ghcr.io/kedacore/keda:2.20.2"] == f"{MIRROR}/kedacore/keda:2.20.2"
    assert targets["nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless"] == (
        f"{MIRROR}/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless"
    )


def test_these_specs_need_every_chart_that_a_fleet_installs() -> None:
    installed = {one.chart.name for name in SPECS for one in releases(mirror_fleet(name))}
    never = {"kube-prometheus-stack", "victoria-metrics-operator", "kai-scheduler", "volcano"}
    never |= {"prometheus-adapter"}  # autoscalers by it are read
    own_component = {"k8s-nim-operator"}
    asked_for = {"karpenter-crd"}
    assert installed == set(load("2026.11").charts) - never - own_component - asked_for


def test_the_policy_of_the_network_operator_is_read_from_its_manifest() -> None:
    found = mirror_list(mirror_fleet("vsphere-network"), [NODE_OS])
    policy = "manifests/network-operator/nic-cluster-policy.yaml"
    assert {one.source for one in found.images if policy in one.users} == {
        "nvcr.io/nvidia/mellanox/doca-driver:doca3.4.1-26.04-1.1.0.0-1-ubuntu24.04-amd64",
        "nvcr.io/nvidia/mellanox/k8s-rdma-shared-dev-plugin:network-operator-v26.4.1",
        "nvcr.io/nvidia/mellanox/multus-cni:network-operator-v26.4.1",
        "nvcr.io/nvidia/mellanox/plugins:network-operator-v26.4.1",
        "nvcr.io/nvidia/mellanox/ipoib-cni:network-operator-v26.4.1",
        "nvcr.io/nvidia/mellanox/nvidia-k8s-ipam:network-operator-v26.4.1",
    }


def test_what_is_not_known_is_named_with_a_reason() -> None:
    without = mirror_list(mirror_fleet("vsphere-operator-parts"))
    assert {one.image for one in without.not_known} == {
        "nvcr.io/nvidia/driver:595.91.07-<os>",
        "nvcr.io/nvidia/cloud-native/nvidia-fs:2.29.4-<os>",
        "nvcr.io/nvidia/cloud-native/gdrdrv:v2.6-<os>",
    }
    openshift = mirror_list(mirror_fleet("openshift"), ["rhcos4.21"])
    assert {one.user for one in openshift.not_known} >= {"operator gpu-operator-certified"}
    karpenter = mirror_list(mirror_fleet("eks-karpenter"))
    assert [one.image for one in karpenter.not_known] == [
        "public.ecr.aws/karpenter/controller:1.14.1@?"
    ]
    neuron = mirror_list(mirror_fleet("eks-neuron"))
    assert "public.ecr.aws/neuron/neuron-device-plugin:?" in [o.image for o in neuron.not_known]


def run(name: str, tmp_path: Path, *more: str, registry: str | None = None) -> Result:
    data: dict[str, Any] = {"catalogue": "2026.11", **SPECS[name]}
    if registry is not None:
        data["addons"] = {**data.get("addons", {}), "images": {"registry": registry}}
    file = tmp_path / "fleet.yaml"
    file.write_text(yaml.safe_dump(data))
    return CliRunner().invoke(command, [str(file), *more])


def test_json_and_text_say_the_same(tmp_path: Path) -> None:
    listed = json.loads(run("eks-karpenter", tmp_path, "--format", "json").stdout)
    assert set(listed) == {"charts", "images", "notKnown"}
    text = run("eks-karpenter", tmp_path).stdout
    for image in listed["images"]:
        assert image["source"] in text
    assert "2 charts" in text


def test_a_gate_fails_on_what_is_not_known(tmp_path: Path) -> None:
    assert run("eks-karpenter", tmp_path).exit_code == 0
    assert run("eks-karpenter", tmp_path, "--require-known").exit_code == 1
    assert run("eks-efa", tmp_path, "--require-known").exit_code == 0


def test_hauler_reads_charts_by_repository_and_oci_by_its_parent(tmp_path: Path) -> None:
    """hauler-dev/hauler at 0475f71 `testdata/hauler-manifest.yaml`: `name: hauler-helm`,
    `repoURL: oci://ghcr.io/hauler-dev`."""
    images, charts = yaml_documents(run("eks-karpenter", tmp_path, "--for", "hauler").stdout)
    assert (images["apiVersion"], images["kind"]) == ("content.hauler.cattle.io/v1", "Images")
    assert {"name": "nvcr.io/nvidia/gpu-operator:v26.7.0"} in images["spec"]["images"]
    assert charts["kind"] == "Charts"
    assert charts["spec"]["charts"] == [
        {
            "name": "gpu-operator",
            "repoURL": "https://helm.ngc.nvidia.com/nvidia",
            "version": "v26.7.0",
        },
        {"name": "karpenter", "repoURL": "oci://public.ecr.aws/karpenter", "version": "1.14.1"},
    ]


def test_zarf_gets_a_package_with_fields_of_its_schema(tmp_path: Path) -> None:
    """zarf-dev/zarf at 00163e6 `zarf.schema.json`: ZarfChart, ZarfComponent, ZarfMetadata."""
    package = yaml_data(run("eks-karpenter", tmp_path, "--for", "zarf").stdout)
    assert package["apiVersion"] == "zarf.dev/v1alpha1"
    assert package["kind"] == "ZarfPackageConfig"
    assert re.fullmatch(r"[a-z0-9][a-z0-9\-]*", package["metadata"]["name"])
    (component,) = package["components"]
    assert set(component) <= {"name", "description", "required", "charts", "images", "manifests"}
    known = {"name", "version", "url", "repoName", "namespace", "releaseName", "valuesFiles"}
    assert all(set(chart) <= known for chart in component["charts"])
    assert all(isinstance(image, str) for image in component["images"])


def test_skopeo_copies_each_image_to_where_the_fleet_looks(tmp_path: Path) -> None:
    made = run("eks-efa", tmp_path, "--for", "skopeo", registry=MIRROR)
    lines = [line for line in made.stdout.splitlines() if line.startswith("skopeo")]
    assert (
        "skopeo copy --all --preserve-digests docker://nvcr.io/nvidia/gpu-operator:v26.7.0 "
        f"docker://{MIRROR}/nvidia/gpu-operator:v26.7.0"
    ) in lines
    refused = run("eks-efa", tmp_path, "--for", "skopeo")
    assert refused.exit_code == 1
    assert "addons.images.registry: skopeo copies to a registry, and none is declared" in (
        refused.stderr
    )


@pytest.mark.parametrize("name", ["foo", "ubuntu", "24.04", "ubuntu24.04 ", ""])
def test_an_operating_system_has_a_release(tmp_path: Path, name: str) -> None:
    result = CliRunner().invoke(command, [str(tmp_path / "fleet.yaml"), "--node-os", name])
    assert result.exit_code == 2
    assert "not a system with its release, such as ubuntu24.04" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("name", "known"), [("foo1", False), ("ubuntu24.04", True), ("rhel9", True)]
)
def test_an_operating_system_without_images_of_nvidia_is_warned_of(
    tmp_path: Path, name: str, *, known: bool
) -> None:
    made = run("eks-efa", tmp_path, "--node-os", name)
    assert made.exit_code == 0
    assert ("no driver image of NVIDIA is known for foo1" in made.stderr) is not known
