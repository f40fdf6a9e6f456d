"""What pools and programs of one cluster demand of each other: the relations that `compile` asks
of a declaration, asked of files."""

from collections.abc import Callable, Iterator, Mapping

from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.program import Program
from gpufleet.contract.contract_fact import chain
from gpufleet.contract.relation import Broken
from gpufleet.findings import Finding, Level, finding
from gpufleet.findings.money import AmountKind
from gpufleet.rules.context import RuleContext, once
from gpufleet.rules.rule import Needs, Rule, rule
from gpufleet_policies.rules.pool_money import nodes_money, smallest

_MATRIX = (
    "NVIDIA data center drivers, matrix of CUDA toolkit, driver and architecture; "
    "`gpufleet catalogue drivers`"
)
_FORMULA = "of a pool: exposure = smallest size (at least 1) x price of a node x 730 h"
_RDMA = "NVIDIA cloud-native-docs gpu-operator/gpu-operator-rdma.rst"


@once
def _relations(context: RuleContext) -> Mapping[str, tuple[Broken, ...]]:
    # Only pools and programs need the models of declarations, which take long to import.
    from gpufleet.contract.validate import broken
    from gpufleet_policies.rules.cluster_model import cluster_of

    found: dict[str, tuple[Broken, ...]] = {}
    for one in broken(cluster_of(context)):
        found[one.code] = (*found.get(one.code, ()), one)
    return found


def _relation(
    code: str,
    sentence: str,
    source: str,
    *,
    dev: Level = Level.MANDATORY,
) -> Callable[[Callable[[], None]], Rule]:
    """The rule of a relation; the decorated function holds its explanation only."""

    def made(explained: Callable[[], None]) -> Rule:
        def check(context: RuleContext, subject: Program | NodePool) -> Iterator[Finding]:
            for one in _relations(context).get(code, ()):
                if one.at is not None and _same(one.at, subject):
                    yield _finding(context, one)

        check.__doc__ = explained.__doc__
        return rule(
            code,
            sentence,
            subject=(Program, NodePool),
            dev=dev,
            formula=_FORMULA,
            needs=[Needs.SURROUNDINGS],
            source=source,
        )(check)

    return made


def _same(at: Program | NodePool, subject: Program | NodePool) -> bool:
    """Whether a relation is reported at an object. Pools are completed: other data, same place."""
    return (type(at), at.locator, at.name) == (type(subject), subject.locator, subject.name)


def _finding(context: RuleContext, one: Broken) -> Finding:
    """At a pool with what its nodes cost while they are useless."""
    pool = one.at if isinstance(one.at, NodePool) else None
    money = None
    if pool is not None and pool.is_certainly_gpu:
        money = nodes_money(context, pool, smallest(pool), AmountKind.EXPOSURE)
    facts = [fact for fact in one.facts if fact is not None]
    last = facts[-1]
    return finding(
        where=one.place,
        found=one.message,
        limit=f"{last.fact} ({last.source})",
        alternative=one.fix,
        money=money,
        evidence={**one.evidence, "facts": chain(*facts)},
        at_most=Level.MANDATORY if one.certain else Level.ADVISORY,
    )


@_relation(
    "driver-not-for-gpu",
    "A driver that does not support the GPU of a pool.",
    _MATRIX,
)
def driver_for_gpu() -> None:
    """The driver of the image, else the version that the GPU Operator's values name, else the
    default one of the chart's release. Advisory where a template of one's own may bring a driver.
    """


@_relation(
    "kernel-module-not-for-gpu",
    "Kernel modules, open or proprietary, that do not support the GPU of a pool.",
    "NVIDIA driver installation guide, Kernel Modules: open ones from Turing on, and only these "
    "from Blackwell on; NVIDIA GPU Operator platform support: GH200",
)
def modules_for_gpu() -> None:
    """`auto`, the default, chooses by GPU."""


@_relation(
    "gpu-operator-too-old-for-gpu",
    "A release of the GPU Operator from before the GPU of a pool.",
    "NVIDIA GPU Operator release notes",
    dev=Level.ADVISORY,
)
def operator_for_gpu() -> None:
    """The release notes name the GPU in a later release."""


@_relation(
    "driver-too-old-for-mig",
    "A driver from before the MIG of the pool's GPU.",
    "NVIDIA MIG user guide, supported GPUs",
)
def driver_for_mig() -> None:
    """The node label `nvidia.com/mig.config` selects a layout."""


@_relation(
    "mig-mode-may-need-reboot",
    "Ampere GPUs with a MIG layout, and a MIG manager that may not reboot the node.",
    "NVIDIA/gpu-operator#668",
    dev=Level.ADVISORY,
)
def mode_by_reboot() -> None:
    """`migManager.env` has no `WITH_REBOOT: "true"`, and the nodes are virtual machines."""


@_relation(
    "operands-do-not-tolerate",
    "A taint of GPU nodes that the operator's pods do not tolerate.",
    "NVIDIA/k8s-device-plugin#1934; NVIDIA/gpu-operator v26.7.0 `values.yaml`",
    dev=Level.ADVISORY,
)
def tolerated() -> None:
    """The list of tolerations in the values, else the chart's own, which has `nvidia.com/gpu`. Of
    the GPU Operator, Node Feature Discovery, the NicClusterPolicy and the DRA driver."""


@_relation(
    "peermem-without-driver-container",
    "nvidia-peermem, asked for where the image brings the driver.",
    _RDMA,
    dev=Level.ADVISORY,
)
def peermem() -> None:
    """A container of the operator's driver pod loads it, and no such pod runs on these nodes."""


@_relation(
    "ofed-from-two-places",
    "DOCA-OFED of the host, configured next to the container that installs it.",
    "NVIDIA/aicr#1680",
)
def ofed_twice() -> None:
    """`driver.rdma.useHostMofed` beside a NicClusterPolicy with `ofedDriver`."""


@_relation(
    "driver-waits-for-ofed",
    "Driver pods that wait for a DOCA-OFED container that the NicClusterPolicy does not have.",
    f"{_RDMA}; NVIDIA/cloud-native-stack#95",
)
def ofed_never() -> None:
    """`driver.rdma.enabled` without `useHostMofed`, and a NicClusterPolicy without `ofedDriver`."""


@_relation(
    "rdma-without-a-path",
    "RDMA devices next to a driver that cannot give NICs the memory of GPUs.",
    _RDMA,
    dev=Level.ADVISORY,
)
def rdma_path() -> None:
    """The proprietary kernel modules without nvidia-peermem, beside a NicClusterPolicy that
    advertises RDMA devices."""


@_relation(
    "karpenter-does-not-know-the-gpus",
    "Nodes that offer other resources than Karpenter expects, and its gate NodeOverlay is off.",
    "aws/karpenter-provider-aws#8368; Karpenter v1.14.1, feature gates",
)
def overlay_gate() -> None:
    """The values of Karpenter's chart, and what the pool's layout and sharing publish."""


@_relation(
    "kubernetes-too-old-for-chart",
    "A chart of NVIDIA's that refuses the cluster's version of Kubernetes.",
    "kubeVersion of the charts",
)
def kubernetes_refused() -> None:
    """The version of the node groups, the context or the fleet."""


@_relation(
    "kubernetes-not-documented-for-chart",
    "A version of Kubernetes that NVIDIA does not document for the operator's release.",
    "NVIDIA GPU Operator and Network Operator, platform support",
    dev=Level.ADVISORY,
)
def kubernetes_documented() -> None:
    """The version of the node groups, the context or the fleet."""


@_relation(
    "two-advertisers",
    "Two device plugins, or a device plugin and the DRA driver, for the GPUs of the same nodes.",
    "NVIDIA/k8s-device-plugin#255: the second plugin to register replaces the first; "
    "NVIDIA/aicr#1327: the scheduler adds up what plugin and DRA driver offer",
)
def advertised_twice() -> None:
    """The device plugin's chart, or the DRA driver with `resources.gpus` on, its default, next to
    a GPU Operator that runs a device plugin; reported on the chart. One whose values select nodes
    of its own (`nodeSelector`, `affinity`) may be right. Values that are not known make no
    violation."""


@_relation(
    "node-feature-discovery-twice",
    "Node Feature Discovery in the values of both NVIDIA operators.",
    "gpu-operator chart v26.7.0 and network-operator chart 26.4.1: both bundle it",
)
def discovered_twice() -> None:
    """Both values have `nfd.enabled: true`: two workers on a node fight for one port."""


@_relation(
    "dra-api-not-had",
    "A version of the API of claims that the cluster's Kubernetes does not have.",
    "kubernetes/kubernetes v1.36.3 pkg/apis/resource",
)
def claims_version() -> None:
    """`resourceApiVersion` of the DRA driver's values."""


@_relation(
    "dra-kubernetes-beta",
    "The DRA driver in a cluster whose API of claims is off unless it is switched on.",
    "kubernetes/website feature-gates/dynamic-resource-allocation.md",
    dev=Level.ADVISORY,
)
def claims_beta() -> None:
    """The version of the node groups, the context or the fleet."""
