"""Charts in objects of GitOps tools: opened, validated, and reported at their source."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.cluster.program import Program
from gpufleet_policies.commands.audit import command
from gpufleet_policies.readers.documents import facts_of_document
from tests.policies.audit.wrapper_shapes import FAULT, Shape
from tests.policies.audit.wrapper_shapes_of_others import ALL_SHAPES
from tests.reading import yaml_data


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def audit(folder: Path, *options: str) -> dict[str, Any]:
    result = CliRunner().invoke(command, [str(folder), "--format", "json", *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return {**json.loads(result.stdout), "exit": result.exit_code}


@pytest.mark.parametrize("shape", ALL_SHAPES, ids=lambda shape: shape.name)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_every_wrapper_is_opened(
    shape: Shape, jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("gpufleet_policies.fronts.audit.run.FILES_PER_PROCESS", 1)
    write(tmp_path, {**shape.files, "other/one.yaml": "a: 1\n", "other/two.yaml": "a: 1\n"})
    found = audit(tmp_path, "--jobs", jobs)
    faults = [one for one in found["findings"] if one["code"] == FAULT]
    assert [(one["file"], one["line"], one["where"]) for one in faults] == [
        (str(tmp_path / shape.file), shape.line, shape.where)
    ], found
    assert not [one for one in found["notJudged"] if one["what"] != "template"], found


@pytest.mark.parametrize("shape", ALL_SHAPES, ids=lambda shape: shape.name)
def test_a_wrapper_without_the_fault_is_clean(shape: Shape, tmp_path: Path):
    write(tmp_path, {name: text.replace("mixd", "mixed") for name, text in shape.files.items()})
    assert [one["code"] for one in audit(tmp_path)["findings"] if one["code"] == FAULT] == []


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: x, namespace: gpu}
spec:
  chart: {spec: {chart: CHART, version: VERSION}}
  values: VALUES
"""


def release(chart: str, values: str, version: str = "1.0.0") -> str:
    written = RELEASE.replace("CHART", chart).replace("VERSION", version)
    return written.replace("VALUES", values)


def test_names_of_charts_are_exact(tmp_path: Path):
    for chart in (
        "fake-gpu-operator",
        "gpu-operator-charts",
        "amd-gpu-operator",
        "cozy-gpu-operator",
    ):
        write(tmp_path, {f"{chart}.yaml": release(chart, "{mig: {strategy: mixd}}")})
    write(tmp_path, {"fake-gpu-operator-values.yaml": "topology: {nodePools: {}}\n"})
    found = audit(tmp_path, "--allow-nothing")
    assert found["findings"] == []
    assert sorted(one["reason"].rpartition(" ")[2] for one in found["notJudged"]) == [
        "amd-gpu-operator",
        "cozy-gpu-operator",
        "fake-gpu-operator",
        "folder",
        "gpu-operator-charts",
    ]


def test_variables_that_a_tool_fills_in_are_unknown(tmp_path: Path):
    write(tmp_path, {"a.yaml": release("gpu-operator", '{mig: {strategy: "${STRATEGY}"}}')})
    assert audit(tmp_path)["findings"] == []


def test_values_that_are_not_there_are_named_and_the_others_judged(tmp_path: Path):
    text = release("gpu-operator", "{mig: {strategy: mixd}}")
    text += "  valuesFrom:\n    - {kind: Secret, name: gpu-secrets}\n"
    write(tmp_path, {"a.yaml": text})
    found = audit(tmp_path, "--require-judged")
    assert [one["code"] for one in found["findings"]] == [FAULT]
    (left,) = found["notJudged"]
    assert (left["what"], left["line"]) == ("values", 8)
    assert "spec.valuesFrom[0] (Secret gpu/gpu-secrets key values.yaml)" in left["reason"]
    write(tmp_path, {"a.yaml": text.replace("gpu-secrets}", "gpu-secrets, optional: true}")})
    assert audit(tmp_path)["notJudged"] == []


def test_no_text_of_a_secret_is_quoted(tmp_path: Path):
    text = release("gpu-operator", "{}", "v26.7.0")
    text += "  valuesFrom:\n    - {kind: Secret, name: s}\n"
    text += "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: gpu}\n"
    text += "stringData:\n  values.yaml: |\n    mig: {strategy: hunter2}\n"
    text += "    driver: {enabld: true}\n"
    write(tmp_path, {"a.yaml": text})
    found = audit(tmp_path)
    assert "hunter2" not in json.dumps(found)
    assert "config-key-misspelt" in [one["code"] for one in found["findings"]]


def test_each_overlay_gives_the_release_its_own_values(tmp_path: Path):
    shape = next(one for one in ALL_SHAPES if one.name == "flux-values-from-generated-config-map")
    generator = shape.files["base/kustomization.yaml"].replace("release.yaml", "../base")
    files = {"base/release.yaml": shape.files["base/release.yaml"]}
    for cluster, strategy in (("eu", "mixd"), ("us", "mixed"), ("asia", "dual")):
        files[f"{cluster}/kustomization.yaml"] = generator
        files[f"{cluster}/helm-values.yaml"] = f"mig: {{strategy: {strategy}}}\n"
    write(tmp_path, files)
    faults = [one["file"] for one in audit(tmp_path)["findings"] if one["code"] == FAULT]
    assert faults == [str(tmp_path / f"{name}/helm-values.yaml") for name in ("asia", "eu")]


def test_what_is_not_judged_is_counted_and_can_fail(tmp_path: Path):
    write(
        tmp_path,
        {
            "kind.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n",
            "service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
            "chart.yaml": release("cert-manager", "{}"),
            "broken.yaml": "a: [1\n",
            "template.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: '{{ .name }}'}\n",
            "mkdocs.yml": "site_name: x\n",
        },
    )
    found = audit(tmp_path)
    assert found["exit"] == 0
    assert {one["what"] for one in found["notJudged"]} == {"kind", "chart", "file", "template"}
    assert audit(tmp_path, "--require-judged")["exit"] == 1
    text = CliRunner().invoke(command, [str(tmp_path)]).output
    assert "not validated 1 object of a kind that no rule reads: example.com/Widget" in text
    assert "not validated 1 chart that no rule reads: cert-manager" in text
    text = CliRunner().invoke(command, [str(tmp_path), "--require-judged"]).output
    assert f"not validated {tmp_path}/kind.yaml:1 Widget w: no rule reads objects of" in text
    (tmp_path / "alone").mkdir()
    write(
        tmp_path / "alone", {"service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"}
    )
    assert audit(tmp_path / "alone", "--require-judged")["exit"] == 0


@pytest.mark.parametrize(
    ("written", "version"),
    [
        *(("v25.3.0", "v25.3.0"), (">=24.0.0", None), ("25.x", None), ("^25.3.0", None)),
        # Helm's ranges (Masterminds/semver): patch releases of one minor release.
        *(("v25.10.x", "v25.10.x"), ("25.10.*", "25.10.*"), ("~25.10.1", "~25.10.1")),
        ("v26.3.x", None),  # v26.3.1 and v26.3.2 have values that v26.3.0 lacks
        ("~26.3.2", "~26.3.2"),
    ],
)
def test_versions_of_wrappers_reach_the_rules(written: str, version: str | None):
    document = yaml_data(release("gpu-operator", "{mig: {strategy: mixed}}", f"'{written}'"))
    facts = facts_of_document(document)
    (program,) = [fact for fact in facts if isinstance(fact, Program)]
    (config,) = [fact for fact in facts if isinstance(fact, NvidiaConfig)]
    assert program.name == config.chart == "gpu-operator"
    assert program.release.found == config.version.found == version


def test_pods_inside_of_a_wrapper_are_reported_in_it(tmp_path: Path):
    values = """
    servingEngineSpec:
      modelSpec:
        - name: llama
          repository: vllm/vllm-openai
          tag: v0.9.0
          modelURL: meta-llama/Llama-3.1-8B-Instruct
          replicaCount: 1
          requestCPU: 8
          requestMemory: 32Gi
          requestGPU: 4
          vllmConfig: {tensorParallelSize: 2}
"""
    write(tmp_path, {"a.yaml": release("vllm-stack", values)})
    codes = {one["code"]: one for one in audit(tmp_path)["findings"]}
    finding = codes["gpu-count-exceeds-parallelism"]
    assert finding["line"] == 9
    assert "spec.values.servingEngineSpec.modelSpec[0]" in finding["where"]


def test_values_of_the_dra_driver_in_a_wrapper_are_validated(tmp_path: Path):
    release = {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": "dra"},
        "spec": {
            "chart": {"spec": {"chart": "nvidia-dra-driver-gpu", "version": "0.5.1"}},
            "values": {
                "gpuResourcesEnabledOverride": True,
                "featureGates": {"DynamicMIG": True, "MPSSupport": True},
            },
        },
    }
    write(tmp_path, {"release.yaml": yaml.safe_dump(release)})
    codes = {one["code"] for one in audit(tmp_path)["findings"]}
    assert "dra-gates-conflict" in codes, codes


def test_terraform_is_named(tmp_path: Path):
    def planned(kind: str) -> dict[str, Any]:
        address = f"{kind}.x"
        return {"address": address, "mode": "managed", "type": kind, "name": "x", "values": {}}

    kinds = (
        "google_compute_instance",
        "linode_lke_cluster",
        "azurerm_kubernetes_cluster_node_pool",
        "aws_iam_role",
        "kubernetes_service",
    )
    plan = {
        "format_version": "1.2",
        "planned_values": {"root_module": {"resources": [planned(kind) for kind in kinds]}},
    }
    far = 'module "eks" { source = "terraform-aws-modules/eks/aws" }\n'
    write(tmp_path, {"plan.json": json.dumps(plan), "main.tf": far})
    found = audit(tmp_path, "--require-judged", "--allow-nothing")
    assert found["exit"] == 1
    assert [one["object"].partition(" ")[0] or one["file"] for one in found["notJudged"]] == [
        "module.eks",
        *kinds[:3],
    ]
    assert {one["what"] for one in found["notJudged"]} == {"terraform"}
    text = CliRunner().invoke(command, [str(tmp_path)]).output
    assert "not validated 4 Terraform resources or files:" in text


def test_json_patches_are_named_once(tmp_path: Path):
    patch = "- {op: replace, path: /spec/replicas, value: 3}\n- {op: remove, path: /spec/x}\n"
    write(tmp_path, {"patch.yaml": patch})
    (one,) = audit(tmp_path, "--allow-nothing")["notJudged"]
    assert (one["what"], one["line"]) == ("patch", 1)


def test_patches_of_a_kustomization_are_judged_as_parts(tmp_path: Path):
    pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: gpu}\n"
    pool += "spec: {template: {spec: {requirements: [{key: karpenter.k8s.aws/instance-category, "
    pool += "operator: In, values: [p]}]}}}\n"
    policy = "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: gpu}\n"
    policy += "spec: {mig: {strategy: mixd}}\n"
    files = {
        "kustomization.yaml": "patches: [{path: pool.yaml}, {path: policy.yaml}]\n",
        "pool.yaml": pool,
        "policy.yaml": policy,
    }
    write(tmp_path, files)
    found = audit(tmp_path)
    assert [one["code"] for one in found["findings"]] == [FAULT]
    assert [(one["what"], one["object"], one["reason"]) for one in found["notJudged"]] == [
        ("overlay", "patches[0]", "NodePool gpu, its object, is missing"),
        ("overlay", "patches[1]", "ClusterPolicy gpu, its object, is missing"),
        ("patch", "NodePool gpu", "a patch is validated only with the object that it changes"),
    ]
    (tmp_path / "kustomization.yaml").unlink()
    assert len(audit(tmp_path)["findings"]) > 1


@pytest.mark.parametrize(
    ("section", "codes"),
    [
        ("{version: doca3.3.0-26.01-1.0.0.0-0}", []),
        ("{image: doca-driver-new}", []),
        ("{repository: registry.example.com/mellanox}", []),
        ("{version: '26'}", ["nic-policy-ofed-version"]),
        ("{image: doca-driver, repository: nvcr.io/NVIDIA}", ["nic-policy-repository"]),
    ],
)
def test_patches_of_a_nic_policy_are_judged_by_what_they_have(
    tmp_path: Path, section: str, codes: list[str]
):
    """Image, repository and version are in the base (Mellanox/network-operator
    api/v1alpha1/validator/nicpolicy_webhook.go validates the merged object)."""
    head = "apiVersion: mellanox.com/v1alpha1\nkind: NicClusterPolicy\n"
    head += "metadata: {name: nic-cluster-policy}\n"
    base = "{image: doca-driver, repository: nvcr.io/nvidia/mellanox, "
    base += "version: doca3.2.0-25.10-1.2.8.0-2}"
    write(
        tmp_path,
        {
            "base/kustomization.yaml": "resources: [policy.yaml]\n",
            "base/policy.yaml": f"{head}spec: {{ofedDriver: {base}}}\n",
            "overlay/kustomization.yaml": "resources: [../base]\npatches: [{path: patch.yaml}]\n",
            "overlay/patch.yaml": f"{head}spec: {{ofedDriver: {section}}}\n",
        },
    )
    assert [one["code"] for one in audit(tmp_path)["findings"]] == codes
