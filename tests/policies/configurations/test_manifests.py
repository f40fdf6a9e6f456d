"""Manifests with several objects: the object of a kind is found among the others."""

from typing import Any

import pytest

from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet_policies.configurations.kinds import validate_text
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.check import CheckedFile, check_file
from gpufleet_policies.rules.settings import RuleSettings
from tests.policies.configurations.karpenter_cases import gpus, job, need, pool, text
from tests.policies.objects import TODAY

G6 = need("node.kubernetes.io/instance-type", "g6.xlarge", "g6.2xlarge")
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: gpu-test}\n---\n"
POD = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {}\n"
CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: shared}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}],
  config: [
  {requests: [gpu], opaque: {driver: gpu.nvidia.com, parameters: {
    apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: %s}}}}]}}}
"""


def config_map(name: str, key: str, text: str) -> str:
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n  {key}: |\n{lines}"
    )


MIG = """version: v1
mig-configs: {%s: [{devices: all, mig-enabled: true, mig-devices: {1g.10gb: %d}}]}"""
SLICED = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: %s}]}}"


def checked(kind: str, text: str, **where: Any) -> CheckedFile:
    file = Input("m.yaml", content=text.encode())
    return check_file(file, TODAY, RuleSettings(), kind=kind, **where)


def codes(kind: str, text: str, **where: Any) -> set[str]:
    return {one.code for one in checked(kind, text, **where).findings}


def test_a_claim_template_between_namespace_and_pod_is_judged() -> None:
    fine = checked("dra-config", NAMESPACE + CLAIM % "TimeSlicing" + POD, context={
        "featureGates": {"TimeSlicingSettings": True}})  # fmt: skip
    assert not fine.findings
    assert [one.object for one in fine.not_judged] == ["Namespace gpu-test", "Pod p"]
    (problem,) = checked("dra-config", NAMESPACE + CLAIM % "MPS" + POD).findings
    assert problem.code == "dra-gate-needed"
    assert problem.path.endswith(
        "shared spec.spec.devices.config[0].opaque.parameters.sharing.strategy"
    )


def test_every_claim_of_a_manifest_is_judged() -> None:
    text = CLAIM % "Mps" + "---\n" + CLAIM.replace("shared", "other") % "TimeSlicing"
    found = checked("dra-config", text).findings
    assert {(f.code, " ".join(f.path.split()[:2])) for f in found} == {
        ("dra-strategy-unknown", "ResourceClaimTemplate shared"),
        ("dra-gate-needed", "ResourceClaimTemplate other"),
    }


def test_a_class_of_the_text_is_known() -> None:
    of_own = CLAIM.replace("gpu.nvidia.com}", "own.nvidia.com}") % "TimeSlicing"
    own = (
        "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: own.nvidia.com}\n"
        "spec: {selectors: [{cel: {expression: device.driver == 'gpu.nvidia.com'}}]}\n"
    )
    assert "dra-class-unknown" in codes("dra-config", of_own)
    assert "dra-class-unknown" not in codes("dra-config", of_own + own)


@pytest.mark.parametrize("wrap", [lambda m: NAMESPACE + m, lambda m: m + POD])
def test_the_config_map_of_a_kind_is_told_from_others(wrap) -> None:
    plugin, mig = config_map("a", "any", SLICED % 4), config_map("b", "config.yaml", MIG % ("x", 8))
    text = wrap(plugin + "---\n" + mig)
    assert codes("device-plugin", text) == set()
    assert codes("mig-parted", text, gpu="H100-80GB") == {"mig-layout-impossible"}


def test_items_of_a_list_are_judged() -> None:
    item = (
        '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, '
        '"data": {"any": "version: v2\\nsharing: {mps: {resources: []}}"}}'
    )
    listed = f'{{"apiVersion": "v1", "kind": "List", "items": [{item}]}}'
    assert "device-plugin-version-unknown" in codes("device-plugin", listed)


def test_select_finds_its_config_map() -> None:
    text = config_map("a", "config.yaml", MIG % ("old", 9)) + "---\n"
    text += config_map("b", "config.yaml", MIG % ("new", 7))
    assert checked("mig-parted", text, gpu="A100-80GB", select="new").verdict == "accept"
    assert checked("mig-parted", text, gpu="A100-80GB", select="old").verdict == "reject"


def test_drivers_of_several_documents_are_judged_against_each_other() -> None:
    driver = "apiVersion: nvidia.com/v1alpha1\nkind: NVIDIADriver\nmetadata: {name: %s}\nspec: {}\n"
    text = NAMESPACE + driver % "a" + "---\n" + driver % "b"
    (problem,) = checked("gpu-operator-values", text).findings
    assert problem.code == "gpu-operator-driver-overlap"
    assert problem.path == "NVIDIADriver b spec.nodeSelector"


def test_networks_beside_a_policy_are_judged() -> None:
    network = (
        "apiVersion: mellanox.com/v1alpha1\nkind: MacvlanNetwork\nmetadata: {name: net}\n"
        "spec: {master: ens1, mode: router}\n"
    )
    validated = checked("network-operator-values", NAMESPACE + network)
    assert [f.path for f in validated.findings if f.severity == "error"] == [
        "MacvlanNetwork net spec.mode"
    ]


def test_pods_that_no_pool_of_the_text_holds_are_found() -> None:
    found = codes("karpenter", text(pool(G6), job(containers=gpus(2))))
    assert "gpu-pods-exceed-declared-pools" in found


def test_a_manifest_without_the_object_says_so() -> None:
    with pytest.raises(UnreadableDocumentError, match="no object of the text is of mig"):
        checked("mig-parted", NAMESPACE.removesuffix("---\n") + POD)
    entries = "[{apiVersion: v1, kind: Namespace, metadata: {name: a}}, null, 7]"
    with pytest.raises(UnreadableDocumentError, match="no object of the text is of karpenter"):
        checked("karpenter", f"apiVersion: v1\nkind: List\nitems: {entries}")


def test_what_is_no_object_is_still_not_read() -> None:
    assert codes("device-plugin", SLICED % 4 + "\n---\nnothing: 1") == {"config-second-document"}


def test_without_a_selection_every_config_is_judged() -> None:
    text = (
        "version: v1\nmig-configs:\n"
        "  fine: [{devices: all, mig-enabled: true, mig-devices: {1g.10gb: 7}}]\n"
        "  wrong: [{devices: all, mig-enabled: true, mig-devices: {3g.40gb: 3}}]\n"
        "  other: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 9}}]\n"
    )
    found = validate_text("mig-parted", text, gpu="H100-80GB").findings
    assert {(f.code, f.path) for f in found} == {
        ("mig-parted-config-not-selected", "mig-configs"),
        ("mig-layout-impossible", "mig-configs.wrong[0].mig-devices"),
        ("mig-layout-nowhere", "mig-configs.other[0].mig-devices"),
    }
    anywhere = {f.path for f in validate_text("mig-parted", text).findings}
    assert "mig-configs.other[0].mig-devices" in anywhere


@pytest.mark.parametrize("kind", ["gpu-operator-values", "dcgm-exporter-values", "device-plugin"])
def test_an_object_of_another_kind_is_not_read_as_values(kind: str) -> None:
    text = b"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
    with pytest.raises(UnreadableDocumentError, match="has none of the keys of the text"):
        check_file(Input("a.yaml", content=text), TODAY, RuleSettings(), kind=kind)
