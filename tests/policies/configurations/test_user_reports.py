"""Thirty public reports whose cause was a configuration, and the required finding of each.

Each is the smallest form of the reporter's file. The required finding was decided from the thread
before the program ran. `missed` is the reason why the program cannot see the cause.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from gpufleet.findings import Finding, Severity
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.check import check_file
from gpufleet_policies.rules.settings import RuleSettings
from tests.policies.objects import TODAY

E, W = Severity.ERROR, Severity.WARNING


@dataclass(frozen=True)
class Report:
    """One report."""

    source: str
    kind: str
    text: str
    says: tuple[str, ...]
    """Words that the message or the fix of one finding has, all of them."""
    severity: Severity = E
    circumstances: dict[str, Any] = field(default_factory=dict[str, Any])
    missed: str = ""


def parted(config: str) -> str:
    return "version: v1\nmig-configs:\n" + config


def toolkit(path: str) -> str:
    return (
        "toolkit:\n  env:\n"
        f"  - {{name: CONTAINERD_CONFIG, value: {path}}}\n"
        "  - {name: CONTAINERD_SOCKET, value: /run/k3s/containerd/containerd.sock}\n"
        "  - {name: CONTAINERD_RUNTIME_CLASS, value: nvidia}\n"
    )


def pool(requirements: str, name: str = "gpu", more: str = "") -> str:
    return (
        f"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: {name}}}\nspec:\n"
        "  limits: {nvidia.com/gpu: 8}\n  template:\n    spec:\n"
        "      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}\n"
        f"      requirements: {requirements}\n{more}"
    )


def pod(gpus: int, more: str = "") -> str:
    return (
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n"
        f"    image: x\n    resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}\n{more}"
    )


RKE2 = "/var/lib/rancher/rke2/agent/etc/containerd/config.toml"
NODE_CLASS = (
    "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: ml}\nspec:\n"
    "  role: nodes\n  subnetSelectorTerms: [{tags: {a: b}}]\n"
    "  securityGroupSelectorTerms: [{tags: {a: b}}]\n"
)
FLAVOR = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: %s}\n---\n"
QUEUE = """apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu]
    flavors:
    - name: %s
      resources: [%s]
"""
CPU, MEMORY, GPU = (
    f"{{name: {name}, nominalQuota: 8}}" for name in ("cpu", "memory", "nvidia.com/gpu")
)

REPORTS = (
    Report(
        "NVIDIA/mig-parted#44",
        "mig-parted",
        parted("  all-1g.5gb:\n  - {devices: 7, mig-enabled: true, mig-devices: {1g.5gb: 7}}\n"),
        ("devices", "7", "list"),
    ),
    Report(
        "NVIDIA/gpu-operator#479",
        "mig-parted",
        parted(
            "  all-balanced:\n  - devices: all\n    mig-enabled: true\n"
            "    mig-devices: {1g.10gb: 2, 2g.20gb: 1, 3g.40gb: 1}\n"
        ),
        ("single", "1g.10gb", "mixed"),
        circumstances={
            "gpu": "A100-80GB",
            "select": "all-balanced",
            "context": {"gpusPerNode": 8, "env": {"MIG_STRATEGY": "single"}},
        },
    ),
    Report(
        "NVIDIA/gpu-operator#981",
        "mig-parted",
        parted("  all-enabled:\n  - {devices: all, mig-enabled: true, mig-devices: {}}\n"),
        ("single", "no instances"),
        circumstances={
            "gpu": "A100-40GB",
            "select": "all-enabled",
            "context": {"gpusPerNode": 2, "chart": {"name": "gpu-operator", "values": {}}},
        },
    ),
    Report(
        "NVIDIA/gpu-operator#460",
        "mig-parted",
        parted(
            "  two: [{devices: all, mig-enabled: true, mig-devices: {1g.6gb: 2, 2g.12gb: 1}}]\n"
        ),
        ("single", "1g.6gb", "2g.12gb"),
        circumstances={
            "gpu": "A30",
            "context": {"gpusPerNode": 1, "env": {"MIG_STRATEGY": "single"}},
        },
    ),
    Report(
        "NVIDIA/gpu-operator#861",
        "gpu-operator-values",
        "driver: {enabled: true}\ntoolkit-version: 1.15.0-ubi8\n",
        ("toolkit-version", "ignores"),
        W,
    ),
    Report(
        "NVIDIA/gpu-operator#196",
        "gpu-operator-values",
        "mig: {Strategy: mixed}\n",
        ("Strategy", "strategy"),
    ),
    Report(
        "NVIDIA/gpu-operator#473",
        "gpu-operator-values",
        toolkit(RKE2),
        ("config.toml", "again at each start"),
        W,
    ),
    Report(
        "NVIDIA/gpu-operator#992",
        "gpu-operator-values",
        toolkit(f"{RKE2}.tmpl"),
        ("config.toml.tmpl", "replaces"),
        W,
    ),
    Report(
        "NVIDIA/gpu-operator#933",
        "gpu-operator-values",
        "driver: {enabled: true, usePrecompiled: true}\n",
        ("precompiled", "branch"),
    ),
    Report(
        "NVIDIA/gpu-operator#585",
        "gpu-operator-values",
        "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: gpu-cluster-policy}\n"
        "spec:\n  operator: {defaultRuntime: crio, use_ocp_driver_toolkit: true}\n"
        "  driver: {enabled: true, version: 525.60.13}\n  daemonsets: {}\n  toolkit: {}\n"
        "  devicePlugin: {}\n  dcgm: {enabled: true}\n  dcgmExporter: {}\n  gfd: {enabled: true}\n"
        "  nodeStatusExporter: {}\n",
        ("driver", "repository", "image"),
    ),
    Report(
        "NVIDIA/gpu-operator#1541",
        "gpu-operator-values",
        "devicePlugin: {enabled: true}\n",
        ("DRA driver", "device plugin"),
        circumstances={
            "context": {
                "chart": {
                    "name": "nvidia-dra-driver-gpu",
                    "values": {"gpuResourcesEnabledOverride": True},
                }
            }
        },
    ),
    Report(
        "NVIDIA/k8s-device-plugin#990",
        "device-plugin-values",
        "config: {default: device-plugin-config}\n",
        ("config.default", "config.name"),
    ),
    Report(
        "NVIDIA/k8s-device-plugin#1022",
        "device-plugin-values",
        "config:\n  map:\n    label1: |-\n      version: v1\n      sharing:\n        timeSlicing:\n"
        "          resources: [{name: nvidia.com/gpu, replicas: 2}]\n    label2: |-\n"
        "      version: v1\n      sharing:\n        timeSlicing:\n"
        "          resources: [{name: nvidia.com/gpu, replicas: 1}]\n"
        "  default: |-\n    version: v1\n",
        ("replicas is 1", "at least 2"),
    ),
    Report(
        "NVIDIA/k8s-device-plugin#1548",
        "gpu-operator-values",
        "devicePlugin:\n  config:\n    name: device-plugin-config\n    create: true\n"
        "    default: default\n    data:\n      default: |-\n        version: v1\n"
        "        flags: {migStrategy: none}\n      rtx-2080-ti: |-\n        version: v1\n"
        "        sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}\n",
        ("replicas is 1", "at least 2"),
    ),
    Report(
        "NVIDIA/k8s-device-plugin#479",
        "gpu-operator-values",
        "validator:\n  driver:\n    env:\n"
        "    - {name: DISABLE_DEV_CHAR_SYMLINK_CREATION, value: true}\n",
        ("value", "text"),
    ),
    Report(
        "NVIDIA/k8s-device-plugin#615",
        "device-plugin",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: times-slicing-config-all}\n"
        "data:\n  any: |-\n    version: v1\n    sharing:\n      timeSlicing:\n"
        "        renameByDefault: true\n        resources: [{name: nvidia.com/gpu, replicas: 4}]\n"
        "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: nvidia-device-plugin}\n"
        "spec:\n  template:\n    spec:\n      containers:\n      - name: nvidia-device-plugin-ctr\n"
        "        image: nvcr.io/nvidia/k8s-device-plugin:v0.15.0\n"
        "        envFrom: [{configMapRef: {name: times-slicing-config-all}}]\n",
        ("envFrom", "config file"),
        missed="a ConfigMap is validated for what it says, not for how a DaemonSet mounts it",
    ),
    Report(
        "kubernetes-sigs/dra-driver-nvidia-gpu#684",
        "dra-config",
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec:\n"
        "  devices:\n    requests:\n"
        "    - {deviceClassName: compute-domain-default-channel.nvidia.com, name: chan}\n",
        ("deviceClassName", "exactly"),
    ),
    Report(
        "kubernetes-sigs/dra-driver-nvidia-gpu#338",
        "dra-config",
        "apiVersion: resource.k8s.io/v1beta1\nkind: ResourceClaimTemplate\n"
        "metadata: {name: single-gpu}\nspec:\n  spec:\n    devices:\n"
        "      requests: [{name: gpu, deviceClassName: gpu.nvidia.com}]\n",
        ("gpu.nvidia.com", "resources.gpus"),
        circumstances={
            "context": {
                "chart": {
                    "name": "nvidia-dra-driver-gpu",
                    "values": {"resources": {"gpus": {"enabled": False}}},
                }
            }
        },
    ),
    Report(
        # The reporter had `profile: 1g.5gb` of an API that is gone; this is what it is today.
        "kubernetes-sigs/dra-driver-nvidia-gpu#33",
        "dra-config",
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\n"
        "metadata: {name: mig}\nspec:\n  spec:\n    devices:\n      requests:\n"
        "      - name: mig\n        exactly:\n"
        "          deviceClassName: mig.nvidia.com\n          selectors:\n          - cel:\n"
        "              expression: device.attributes['gpu.nvidia.com'].profile == '1g.5gb'\n",
        ("1g.5gb", "1g.10gb"),
        circumstances={"gpu": "A100-80GB"},
    ),
    Report(
        "kubernetes/kubernetes#126267",
        "dra-config",
        "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaim\nmetadata: {name: gpu-claim}\n"
        "spec: {resourceClassName: nvidia-gpu}\n",
        ("v1alpha2", "serves"),
    ),
    Report(
        "aws/karpenter-provider-aws#8064",
        "karpenter",
        pool(
            "[{key: node.kubernetes.io/instance-type, operator: In, "
            "values: [g4dn.2xlarge, g4dn.4xlarge]}]"
        )
        + pod(2),
        ("2", "nvidia.com/gpu", "1"),
        W,
    ),
    Report(
        "aws/karpenter-provider-aws#8019",
        "karpenter",
        "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: p}\nspec:\n"
        "  disruption: {consolidationPolicy: WhenEmpty, expireAfter: Never}\n"
        "  template: {spec: {nodeClassRef: {name: gpu}, requirements: []}}\n",
        ("expireAfter", "spec.template.spec"),
    ),
    Report(
        "aws/karpenter-provider-aws#7754",
        "karpenter",
        pool(
            "[{key: karpenter.k8s.aws/instance-family, operator: In, values: [g4ad]}, "
            "{key: karpenter.k8s.aws/instance-size, operator: In, values: [2xlarge]}]"
        )
        + pod(1),
        ("nvidia.com/gpu", "no pool declared here has GPUs"),
        W,
    ),
    Report(
        "kubernetes-sigs/karpenter#1587",
        "karpenter",
        pool(
            "[{key: kubernetes.io/arch, operator: In, values: [amd64]}]",
            more="  disruption: {consolidationPolicy: WhenUnderutilized}\n",
        ),
        ("WhenUnderutilized", "WhenEmptyOrUnderutilized"),
    ),
    Report(
        "aws/amazon-vpc-cni-k8s#3104",
        "karpenter",
        NODE_CLASS + "  amiFamily: AL2023_GPU\n  amiSelectorTerms: [{alias: al2023@v20240807}]\n",
        ("AL2023_GPU", "AL2023"),
    ),
    Report(
        "awslabs/eksdemo#249",
        "karpenter",
        NODE_CLASS + "  amiFamily: Bottlerocket\n",
        ("amiSelectorTerms", "required"),
    ),
    Report(
        "aws-solutions-library-samples/global-capacity-orchestrator-on-aws#68",
        "karpenter",
        pool("[{key: karpenter.k8s.aws/instance-family, operator: In, values: [p4d, p5, p6]}]"),
        ("p6",),
        W,
    ),
    Report(
        "jupyter-infra/jupyter-deploy#351",
        "karpenter",
        pool(
            "[{key: karpenter.k8s.aws/instance-family, operator: In, values: [p4d, p5]}, "
            "{key: karpenter.k8s.aws/instance-cpu, operator: In, values: ['2', '8', '32']}]"
        ),
        ("no", "machine"),
    ),
    Report(
        "kubernetes-sigs/kueue#786",
        "kueue",
        QUEUE % ("default-flavor", f"{CPU}, {MEMORY}"),
        ("nvidia.com/gpu", "coveredResources"),
    ),
    Report(
        "headlamp-k8s/plugins#1191",
        "kueue",
        FLAVOR % "default-flavor" + QUEUE % ("default", f"{CPU}, {MEMORY}, {GPU}"),
        ("default", "ResourceFlavor"),
        W,
    ),
)


def findings_of(report: Report) -> tuple[Finding, ...]:
    file = Input("file.yaml", content=report.text.encode())
    return check_file(
        file, TODAY, RuleSettings(), kind=report.kind, **report.circumstances
    ).findings


def told(report: Report) -> bool:
    """Whether one finding of at least the severity has the words."""
    found = findings_of(report)
    enough = (E,) if report.severity is E else (E, W)
    return any(
        all(word in f"{f.path} {f.message} {f.fix}" for word in report.says)
        for f in found
        if f.severity in enough
    )


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.source)
def test_the_cause_is_reported(report: Report) -> None:
    findings = findings_of(report)
    assert told(report) is not bool(report.missed), [str(finding) for finding in findings]


def test_at_least_24_of_30_are_reported() -> None:
    assert len({report.source for report in REPORTS}) == 30
    assert sum(not report.missed for report in REPORTS) >= 24
