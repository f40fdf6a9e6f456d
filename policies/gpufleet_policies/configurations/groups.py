"""The listed rules with faults: one for the objects and files of each program, one of relations.

The first say that a program refuses what is written, or does something else with it; their faults
are the codes of `gpufleet check`. Settings and waivers name the rule, or one fault.
"""

from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet.findings import Level
from gpufleet.rules.rows import SHARED
from gpufleet.rules.rule import Profile, Rule
from gpufleet_policies.configurations.codes import EVERY_KIND

RELATIONS = "relations"
_ROWS = (
    (
        "object-configuration",
        (EVERY_KIND, "kubernetes-object"),
        "An object or file that its reader refuses: a key twice or misspelt, a value of no type.",
        "kube-apiserver 1.36 and the vendors' definitions",
    ),
    (
        "mig-configuration",
        ("mig-parted", "mig-placement", "mig-strategy"),
        "A MIG layout that mig-parted refuses, that no GPU can hold, or that its strategy hides.",
        "NVIDIA/mig-parted and NVIDIA/k8s-device-plugin",
    ),
    (
        "device-plugin-configuration",
        ("device-plugin", "device-plugin-values"),
        "A configuration of NVIDIA's device plugin that it refuses or reads otherwise.",
        "NVIDIA/k8s-device-plugin",
    ),
    (
        "dra-configuration",
        ("dra-config", "dra-driver-values"),
        "A claim, class or configuration of the DRA driver that is refused or never matches.",
        "kubernetes-sigs/dra-driver-nvidia-gpu and kube-apiserver 1.36",
    ),
    (
        "gpu-operator-configuration",
        ("gpu-operator-values", "dcgm-exporter-values"),
        "Values or a ClusterPolicy that the GPU Operator or the DCGM exporter refuses or ignores.",
        "NVIDIA/gpu-operator and NVIDIA/dcgm-exporter",
    ),
    (
        "network-operator-configuration",
        ("network-operator-values",),
        "Values or policies that the Network Operator refuses or ignores.",
        "Mellanox/network-operator",
    ),
    (
        "karpenter-configuration",
        ("karpenter",),
        "A NodePool or EC2NodeClass that Karpenter refuses, or that launches no node with GPUs.",
        "aws/karpenter-provider-aws and kubernetes-sigs/karpenter",
    ),
    (
        "autoscaler-configuration",
        ("autoscaler",),
        "An autoscaler of pods that is refused, or scales servers by what they do not need.",
        "kedacore/keda and Kubernetes HorizontalPodAutoscaler",
    ),
    (
        "kueue-configuration",
        ("kueue", "kueue-values"),
        "Queues, flavors and gates that Kueue refuses or never uses.",
        "kubernetes-sigs/kueue",
    ),
    (
        RELATIONS,
        (),
        "Pools and programs of one cluster that do not work together.",
        "the documentation of both sides, as each fault names it",
    ),
)

CONFIGURATION_GROUPS: tuple[Rule, ...] = tuple(
    Rule(
        id=name,
        sentence=sentence,
        levels=dict.fromkeys(Profile, Level.MANDATORY),
        source=source,
        family=name,
        subjects=(NvidiaConfig,),
    )
    for name, _, sentence, source in _ROWS
)
"""The rules, in the order they are listed."""

_GROUP_OF = {family: name for name, families, _, _ in _ROWS for family in families}


def group_of(rule: Rule) -> str:
    """The listed rule that a code is a fault of: by its kind, or that of all kinds."""
    return _GROUP_OF[EVERY_KIND if rule.id.startswith(f"{SHARED}-") else rule.family]
