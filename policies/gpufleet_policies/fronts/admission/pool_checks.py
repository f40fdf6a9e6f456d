"""Checks of node pools, autoscalers, queues and claims."""

from gpufleet.findings import Level
from gpufleet_policies.fronts.admission.check import Constants, ObjectCheck
from gpufleet_policies.fronts.admission.container_checks import lacks_owner
from gpufleet_policies.fronts.admission.targets import (
    CLAIM_TEMPLATES,
    CLAIMS,
    CLUSTER_QUEUES,
    HPAS,
    KAI_QUEUES,
    NODE_POOLS,
    SCALED_OBJECTS,
    AdmissionTarget,
)
from gpufleet_policies.rules.scaling import SLOW_SECONDS

_FAMILIES = "^(p[2-9]|g[3-9]|gr[0-9])[a-z0-9-]*$"
"""EC2 families with GPUs: P and G lines."""
_REQUIREMENTS = "object.spec.?template.?spec.?requirements.orValue([])"
_SELECTS_GPUS = (
    f"({_REQUIREMENTS}.exists(r, r.key.startsWith('karpenter.k8s.aws/instance-gpu-')"
    " && r.operator != 'DoesNotExist')"
    f" || {_REQUIREMENTS}.exists(r, r.key in ['karpenter.k8s.aws/instance-family',"
    " 'node.kubernetes.io/instance-type'] && r.operator == 'In'"
    f" && r.?values.orValue([]).exists(v, v.split('.')[0].matches('{_FAMILIES}')))"
    " || object.spec.?template.?spec.?taints.orValue([]).exists(t, t.key == 'nvidia.com/gpu'))"
)
_STATIC = "object.spec.?replicas.hasValue()"
_RESERVED = (
    f"{_REQUIREMENTS}.exists(r, r.key == 'karpenter.sh/capacity-type' && r.operator == 'In'"
    " && r.?values.orValue([]).exists(v, v == 'reserved'))"
)
_BUDGETS = "object.spec.?disruption.?budgets.orValue([])"
_ALWAYS_ZERO = (
    f"{_BUDGETS}.exists(b, b.nodes in ['0', '0%'] && !b.?schedule.hasValue()"
    " && (b.?reasons.orValue([]).size() == 0"
    " || ['Empty', 'Underutilized'].all(r, r in b.?reasons.orValue([]))))"
)
_CONSOLIDATE = "object.spec.?disruption.?consolidateAfter.orValue('0s')"


def _slow_pool(target: AdmissionTarget, constants: Constants) -> str:
    return (
        f"{_SELECTS_GPUS} && {_CONSOLIDATE} != 'Never' && duration({_CONSOLIDATE}) > duration('1h')"
    )


_GPU_METRICS = (
    "object.spec.?metrics.orValue([]).exists(m, [m.?pods.?metric.?name.orValue(''),"
    " m.?external.?metric.?name.orValue(''), m.?object.?metric.?name.orValue('')]"
    ".exists(n, n.matches('(?i)(dcgm|gpu|vllm|triton|tgi|nim)')))"
)
_MODE = "'gpufleet.dev/mode' in variables.annotations"
_ABOUT_GPUS = f"({_GPU_METRICS} || {_MODE})"
"""An autoscaler does not say whether its target holds GPUs: its metrics or our annotation do."""
_TRIGGERS = (
    "(object.spec.?triggers.orValue([]).exists(t, t.?metadata.orValue({}).exists(k,"
    " string(t.metadata[k]).matches('(?i)(dcgm|gpu|vllm|triton|tgi|nim)')))"
    f" || {_MODE})"
)
_HPA_WINDOW = "object.spec.?behavior.?scaleDown.?stabilizationWindowSeconds.orValue(0)"

_REQUESTS = {
    CLAIMS.name: "object.spec.?devices.?requests.orValue([])",
    CLAIM_TEMPLATES.name: "object.spec.spec.?devices.?requests.orValue([])",
}


def _all_devices(target: AdmissionTarget, constants: Constants) -> str:
    gpu = ".?deviceClassName.orValue('').matches('(^|[.])(gpu|mig)[.]nvidia[.]com$')"
    return (
        f"{_REQUESTS[target.name]}.exists(r, (r.?exactly.?allocationMode.orValue('') == 'All'"
        f" && r.?exactly{gpu}) || r.?firstAvailable.orValue([]).exists(f,"
        f" f.?allocationMode.orValue('') == 'All' && f{gpu}))"
    )


def _unselective(target: AdmissionTarget, constants: Constants) -> str:
    """Nothing to check with only one kind of GPU, or without a declared fleet."""
    if len(constants.gpus) < 2:
        return ""
    plain = (
        "{0}.?deviceClassName.orValue('') == 'gpu.nvidia.com'"
        " && {0}.?selectors.orValue([]).size() == 0"
    )
    return (
        f"{_REQUESTS[target.name]}.exists(r, ({plain.format('r.?exactly')})"
        f" || r.?firstAvailable.orValue([]).exists(f, {plain.format('f')}))"
    )


_COVERS_GPUS = (
    "object.spec.?resourceGroups.orValue([]).exists(g, g.?flavors.orValue([]).exists(f,"
    " f.?resources.orValue([]).exists(r, r.name.startsWith('nvidia.com/')"
    " && !r.?borrowingLimit.hasValue())))"
)

_CPU_ONLY = (
    "object.spec.?metrics.orValue([]).all(m, m.type == 'Resource' || m.type == 'ContainerResource')"
)

_TEMPLATE_METADATA = "object.spec.?template.?metadata"


def _ownerless(target: AdmissionTarget, constants: Constants) -> str:
    maps = (
        f"[variables.annotations, variables.labels, {_TEMPLATE_METADATA}.?labels.orValue({{}}),"
        f" {_TEMPLATE_METADATA}.?annotations.orValue({{}})]"
    )
    found = lacks_owner(maps, constants)
    return f"{_SELECTS_GPUS} && {found}" if found else ""


CHECKS = (
    ObjectCheck(
        "gpu-owner-tags-missing",
        (NODE_POOLS,),
        "add them to spec.template.metadata.labels",
        offence=_ownerless,
        at_most=Level.ADVISORY,  # they may be in the tags of its node class
    ),
    ObjectCheck(
        "autoscaler-cpu-of-gpu-workload",
        (HPAS,),
        "scale on requests waiting, or on a GPU metric",
        # Only where the autoscaler says what it scales: it cannot look at its target.
        offence=f"{_MODE} && {_CPU_ONLY}",
    ),
    ObjectCheck(
        "gpu-pool-unbounded",
        (NODE_POOLS,),
        "set limits, such as `limits: {nvidia.com/gpu: 16}`",
        offence=f"{_SELECTS_GPUS} && !{_STATIC} && object.spec.?limits.orValue({{}}).size() == 0",
    ),
    ObjectCheck(
        "karpenter-never-consolidates",
        (NODE_POOLS,),
        "set consolidationPolicy: WhenEmpty and consolidateAfter: 5m",
        offence=f"{_SELECTS_GPUS} && !{_STATIC} && ({_CONSOLIDATE} == 'Never' || {_ALWAYS_ZERO})",
    ),
    ObjectCheck(
        "karpenter-never-expires",
        (NODE_POOLS,),
        "set expireAfter: 720h",
        offence=f"{_SELECTS_GPUS} && !{_STATIC}"
        " && object.spec.?template.?spec.?expireAfter.orValue('720h') == 'Never'",
    ),
    ObjectCheck(
        "gpu-pool-fixed-size",
        (NODE_POOLS,),
        "leave replicas away, so that nodes come and go with their pods",
        offence=f"{_SELECTS_GPUS} && object.spec.?replicas.orValue(0) > 0 && !{_RESERVED}",
    ),
    ObjectCheck(
        "karpenter-consolidates-slowly",
        (NODE_POOLS,),
        "set consolidateAfter to 1h or less",
        offence=_slow_pool,
    ),
    ObjectCheck(
        "scale-down-too-slow",
        (HPAS,),
        f"set stabilizationWindowSeconds to {SLOW_SECONDS} or less",
        offence=f"{_ABOUT_GPUS} && {_HPA_WINDOW} > {SLOW_SECONDS}",
    ),
    ObjectCheck(
        "scale-down-too-slow",
        (SCALED_OBJECTS,),
        f"set cooldownPeriod to {SLOW_SECONDS} or less",
        offence=f"{_TRIGGERS} && object.spec.?cooldownPeriod.orValue(300) > {SLOW_SECONDS}",
    ),
    ObjectCheck(
        "autoscaler-min-equals-max",
        (HPAS,),
        "lower minReplicas, or remove the autoscaler",
        offence=f"{_ABOUT_GPUS} && object.spec.maxReplicas >= 2"
        " && object.spec.?minReplicas.orValue(1) == object.spec.maxReplicas",
    ),
    ObjectCheck(
        "autoscaler-min-equals-max",
        (SCALED_OBJECTS,),
        "lower minReplicaCount, or remove the autoscaler",
        offence=f"{_TRIGGERS} && object.spec.?maxReplicaCount.orValue(100) >= 2"
        " && object.spec.?minReplicaCount.orValue(0) =="
        " object.spec.?maxReplicaCount.orValue(100)",
    ),
    ObjectCheck(
        "autoscaler-idle-not-below-minimum",
        (SCALED_OBJECTS,),
        "set idleReplicaCount: 0, below minReplicaCount",
        offence="object.spec.?idleReplicaCount.hasValue() && object.spec.idleReplicaCount >="
        " object.spec.?minReplicaCount.orValue(0)",
    ),
    ObjectCheck(
        "dra-takes-all-devices",
        (CLAIMS, CLAIM_TEMPLATES),
        "set allocationMode: ExactCount and count",
        offence=_all_devices,
    ),
    ObjectCheck(
        "dra-claim-unselective",
        (CLAIMS, CLAIM_TEMPLATES),
        "add a selector, such as cel.expression: "
        "device.attributes['gpu.nvidia.com'].productName == '...'",
        offence=_unselective,
    ),
    ObjectCheck(
        "queue-without-cap",
        (KAI_QUEUES,),
        "set a limit",
        offence="object.spec.?resources.?gpu.?limit.orValue(0) == -1"
        " && object.spec.?resources.?gpu.?quota.orValue(0) == -1",
    ),
    ObjectCheck(
        "queue-without-cap",
        (CLUSTER_QUEUES,),
        "set borrowingLimit of the GPU resource",
        offence="(object.spec.?cohort.orValue('') != '' ||"
        " object.spec.?cohortName.orValue('') != '')"
        f" && {_COVERS_GPUS}",
    ),
)
"""Checks of objects without pod templates."""
