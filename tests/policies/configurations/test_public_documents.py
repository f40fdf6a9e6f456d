"""Published documents that run, or that failed: the smallest form of each.

The name of a test names the document's source; the expected result is that of its reader.
"""

from typing import Any

from gpufleet.findings import Finding, Severity
from gpufleet.rules.rule import Verdict
from gpufleet_policies.configurations.kinds import validate_text
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.check import check_file
from gpufleet_policies.rules.settings import RuleSettings
from tests.policies.objects import TODAY


def problems(kind: str, text: str, **circumstances: Any) -> set[str]:
    """Codes of errors and warnings."""
    found = validate_text(kind, text, **circumstances).findings
    return {f.code for f in found if f.severity is not Severity.INFO}


def checked(kind: str, text: str) -> tuple[Finding, ...]:
    """Findings about the objects of a text."""
    file = Input("file.yaml", content=text.encode())
    return check_file(file, TODAY, RuleSettings(), kind=kind).findings


def test_mig_parted_state_mig_manager_configmap_has_81_configs_and_none_is_selected() -> None:
    """NVIDIA/gpu-operator assets/state-mig-manager/0400_configmap.yaml: the node label selects."""
    text = (
        "{version: v1, mig-configs: {all-disabled: [{devices: all, mig-enabled: false}], "
        'a: [{devices: all, mig-enabled: true, mig-devices: {"1g.10gb": %d}}], '
        "pro: [{device-filter: '0x2BB510DE', devices: all, mig-enabled: true, "
        "mig-devices: {1g.24gb: 4}}]}}"
    )
    for gpu in (None, "A100-80GB", "L4"):
        assert problems("mig-parted", text % 7, gpu=gpu) == set()
    assert problems("mig-parted", text % 8) == {"mig-layout-nowhere"}
    assert problems("mig-parted", text % 8, gpu="A100-80GB") == {"mig-layout-impossible"}
    # Of a config for other boards a name that no board has is still found.
    assert problems("mig-parted", text.replace("1g.24gb", "1g.25gb") % 7, gpu="A100-80GB") == {
        "mig-layout-nowhere"
    }


def test_deepops_nvidia_mig_config_has_two_instances_that_fill_the_gpu() -> None:
    """NVIDIA/deepops config.example/nvidia-mig-config.yml: `7g.80gb: 2` in all-7g.80gb."""
    entry = "{devices: all, mig-enabled: true, mig-devices: {7g.80gb: 2}}"
    text = f"version: v1\nmig-configs: {{a: [{{devices: all, mig-enabled: false}}], b: [{entry}]}}"
    assert problems("mig-parted", text) == {"mig-layout-nowhere"}


def test_lcpu_club_gpu_time_slicing_config_has_a_key_for_each_node_label() -> None:
    """lcpu-club/hpcgame-ops-2nd 5_accelerators/0_gpu/gpu-time-slicing-config.yaml."""
    sliced = (
        "version: v1\\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: %d}]}}"
    )
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
        f'data: {{t4: "{sliced}", a100: "{sliced}"}}'
    )
    assert problems("device-plugin", text % (4, 8)) == set()
    found = validate_text("device-plugin", text % (1, 0)).findings
    assert [(f.code, f.path) for f in found] == [
        ("device-plugin-replicas-invalid", f"data.{key}: sharing.timeSlicing.resources[0].replicas")
        for key in ("t4", "a100")
    ]
    apart = "apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n---\n" + text % (1, 4)
    assert [one.code for one in checked("device-plugin", apart)] == [
        "device-plugin-replicas-invalid"
    ]


def test_k8s_device_plugin_readme_mps_sets_no_root() -> None:
    """NVIDIA/k8s-device-plugin README, rh-aiservices-bu/rhoaibu-cluster components/mps-2: the
    operator sets MPS_ROOT. NVIDIA/k8s-device-plugin#1132: the static DaemonSet does not."""
    text = "version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 10}]}}"
    assert problems("device-plugin", text) == {"device-plugin-mps-root-elsewhere"}
    assert problems("device-plugin", text, context={"chart": "gpu-operator"}) == set()
    assert problems("device-plugin", text, context={"env": {"MPS_ROOT": "/run/nvidia/mps"}}) == (
        set()
    )
    assert validate_text("device-plugin", text, context={"env": {}}).verdict is Verdict.REJECT


def test_ol_infrastructure_several_mps_shares_for_one_pod() -> None:
    """mitodl/ol-infrastructure; honoured from v0.20.0 on (k8s-device-plugin f14d3d12,
    api/config/v1/config.go NewConfig, stored id 61111171866)."""
    text = (
        "{version: v1, flags: {mpsRoot: /run/nvidia/mps}, sharing: {mps: "
        "{failRequestsGreaterThanOne: false, resources: [{name: nvidia.com/gpu, replicas: 10}]}}}"
    )
    assert problems("device-plugin", text) == set()
    assert problems("device-plugin", text, context={"version": "v0.19.1"}) == {
        "device-plugin-mps-one-request"
    }


def test_aks_rdma_infiniband_resource_prefix_of_one_label() -> None:
    """Azure/aks-rdma-infiniband configs/nicclusterpolicy/sriov-device-plugin/sriov.yaml; sriovdp
    validates resourceName only (cmd/sriovdp/manager.go validConfigs)."""
    config = (
        '{"resourceList": [{"resourcePrefix": "rdma", "resourceName": "ib", '
        '"selectors": {"vendors": ["15b3"]}}]}'
    )
    assert problems("sriov-config", config) == set()
    policy = (
        "apiVersion: mellanox.com/v1alpha1\nkind: NicClusterPolicy\n"
        "metadata: {name: nic-cluster-policy}\nspec: {sriovDevicePlugin: {image: p, "
        f"repository: nvcr.io/nvidia/mellanox, version: v1, config: '{config}'}}}}"
    )
    assert problems("network-operator-values", policy) == {"nic-policy-prefix"}


def test_demo_ai_gitops_catalog_patches_of_a_cluster_policy() -> None:
    """redhat-na-ssa/demo-ai-gitops-catalog .../time-sliced-2/patch-gpu-cluster-policy.yaml."""
    text = (
        "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: gpu-cluster-policy}\n"
        "spec: {devicePlugin: {config: {name: c, default: time-sliced-2}}, gfd: {}}"
    )
    (note,) = validate_text("gpu-operator-values", text).findings
    assert (note.code, note.severity) == ("gpu-operator-patch", Severity.INFO)
    wrong = text.replace("gfd: {}", "gfd: {}, mig: {strategy: mixd}")
    assert problems("gpu-operator-values", wrong) == {"gpu-operator-choice-unknown"}


def test_dra_driver_quickstart_gpu_test5_needs_gates_that_it_cannot_name() -> None:
    """kubernetes-sigs/dra-driver-nvidia-gpu demo/specs/quickstart/v1/gpu-test5.yaml."""
    text = (
        "apiVersion: resource.nvidia.com/v1beta1\nkind: GpuConfig\n"
        "sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 50}}"
    )
    assert problems("dra-config", text) == {"dra-gate-needed"}
    assert problems("dra-config", text, context={"featureGates": {"MPSSupport": True}}) == set()
    installed = {"context": {"chart": {"name": "dra-driver-nvidia-gpu", "values": {
        "gpuResourcesEnabledOverride": True}}}}  # fmt: skip
    assert problems("dra-config", text, **installed) == {"dra-gate-missing"}


POLICY = """apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: %s}
spec: {operator: {}, daemonsets: {}, driver: {}, toolkit: {}, dcgm: {}, nodeStatusExporter: {},
  gfd: {}, mig: {strategy: mixed}, dcgmExporter: {config: {name: counters}},
  devicePlugin: {config: {name: plugin, default: %s}}}
"""
MAPS = """---
apiVersion: v1
kind: ConfigMap
metadata: {name: plugin}
data: {any: "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: %s}]}}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: counters}
data: {%s: "DCGM_FI_DEV_GPU_UTIL, gauge, x"}
"""


def test_gpu_operator_1616_config_maps_of_a_policy_are_validated_with_it() -> None:
    """NVIDIA/gpu-operator#1616: the ConfigMap had `default-counters.csv`."""
    fine = POLICY % ("p", "any") + MAPS % (4, "dcgm-metrics.csv")
    assert not checked("gpu-operator-values", fine)
    text = POLICY % ("p", "all") + MAPS % (1, "default-counters.csv")
    assert {(f.code, f.path) for f in checked("gpu-operator-values", text)} == {
        ("gpu-operator-counters-key", "ConfigMap counters data"),
        ("device-plugin-default-absent", "ClusterPolicy p spec.devicePlugin.config.default"),
        (
            "device-plugin-replicas-invalid",
            "ConfigMap plugin data[any].sharing.timeSlicing.resources[0].replicas",
        ),
    }
    two = POLICY % ("a", "any") + "---\n" + POLICY % ("b", "any")
    assert {f.code for f in checked("gpu-operator-values", two)} == {"gpu-operator-two-policies"}


def test_cloud_native_docs_82_mig_manager_data_is_text() -> None:
    """NVIDIA/cloud-native-docs pull 82: `data` was the document itself, and was called empty."""
    text = "migManager: {config: {create: true, name: c, data: 'version: v1'}}"
    (problem,) = validate_text("gpu-operator-values", text).findings
    assert problem.code == "gpu-operator-wrong-type"
    assert "text; it is the data of a ConfigMap" in problem.message


def test_k8s_device_plugin_1433_rename_by_default_under_flags() -> None:
    text = (
        "version: v1\nflags: {migStrategy: none, renameByDefault: true}\n"
        "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 16}]}}"
    )
    (problem,) = validate_text("device-plugin", text).findings
    assert problem.code == "device-plugin-key-elsewhere"
    assert "sharing.timeSlicing" in (problem.fix or "")
    whole = "apiVersion: v1\n" + text
    codes = {f.code for f in validate_text("device-plugin", whole).findings}
    assert codes == {"device-plugin-key-elsewhere", "config-key-unknown"}
