"""GPUDirect RDMA and Storage: one path from NIC to GPU memory, and who must be there first.

DMA-BUF needs the open kernel module, a Turing GPU or later and a kernel from 5.12 on; the legacy
path, nvidia-peermem, needs DOCA-OFED on the node before the driver container starts (NVIDIA
cloud-native-docs `gpu-operator/gpu-operator-rdma.rst`). EFA and Google's fabrics need neither.
"""

from collections.abc import Iterable, Iterator

from gpufleet.contract.facts import ClusterFacts, ContractFact, ContractPool, chain
from gpufleet.contract.operator_values import operator_value, place, said
from gpufleet.contract.platform import PlatformValue
from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, error, warning
from gpufleet.spec.addons import GpuOperator, Ofed
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Fabric

OLDEST_FOR_DMA_BUF = (7, 5)
"""Turing."""
RDMA = "driver.rdma.enabled"
HOST = "driver.rdma.useHostMofed"
_DOCS = "NVIDIA cloud-native-docs gpu-operator/gpu-operator-rdma.rst"
_WAITS = ContractFact(
    "with driver.rdma.enabled every driver pod waits until DOCA-OFED says that it is ready", _DOCS
)


def rdma_pools(cluster: ClusterFacts) -> tuple[ContractPool, ...]:
    """Pools whose nodes reach each other through NICs that the Network Operator looks after."""
    return tuple(p for p in cluster.pools if _uses_network_operator(p.fabric, p.platform))


def network_operator_present(spec: FleetSpec, platform: PlatformValue) -> bool:
    """Whether the Network Operator is in the cluster: as declared, else with RDMA pools."""
    declared = spec.addons.network_operator.enabled
    if declared is not None:
        return declared
    return any(_uses_network_operator(pool.fabric, platform) for pool in spec.pools)


def _uses_network_operator(fabric: Fabric, platform: PlatformValue) -> bool:
    return fabric is Fabric.RDMA and platform.facts.rdma_by_network_operator


def validate_rdma(cluster: ClusterFacts) -> Iterator[Finding]:
    """Findings about the way from NIC to GPU, over both operators and the images."""
    operator = cluster.spec.addons.gpu_operator
    pools = rdma_pools(cluster)
    if pools and not network_operator_present(cluster.spec, cluster.platform):
        yield _no_network_operator(pools)
    if operator.enabled is False:
        return
    if operator_value(operator, RDMA) is True:
        yield from _peermem(cluster, operator)
    else:
        yield from _dma_buf(pools, operator)
    yield from _storage(operator)


def _no_network_operator(pools: tuple[ContractPool, ...]) -> Finding:
    return error(
        "rdma-without-network-operator",
        "addons.networkOperator.enabled",
        f"{', '.join(p.name for p in pools)} want RDMA, and the Network Operator is switched off: "
        "no pod could ask for an RDMA device",
        "remove the line, or say `ownership: existing` when someone else installs it",
        facts=chain(
            *(ContractFact(f"fabric of {p.name} is rdma", f"{p.path}.fabric") for p in pools[:3]),
            ContractFact("the Network Operator is off", "addons.networkOperator.enabled"),
            ContractFact(
                "RDMA devices are advertised by its device plugins", "network-operator 26.4.1"
            ),
        ),
    )


def _peermem(cluster: ClusterFacts, operator: GpuOperator) -> Iterable[Finding]:
    network = cluster.spec.addons.network_operator
    present = network_operator_present(cluster.spec, cluster.platform)
    asked = said(operator, RDMA)
    ofed = network.ofed
    ofed_fact = ContractFact(f"DOCA-OFED comes from: {ofed.value}", "addons.networkOperator.ofed")
    brought = [p for p in cluster.operated if p.image is not None and p.image.driver]
    if brought:
        yield warning(
            "peermem-without-driver-container",
            place(operator, RDMA),
            "nvidia-peermem is loaded by a container of the operator's driver pod, and "
            f"{', '.join(p.name for p in brought)} get the driver from their image: it does "
            "nothing there",
            "remove the line: DMA-BUF needs no setting, and EFA none of this",
            facts=chain(
                asked, brought[0].image_fact, ContractFact("so no driver pod runs there", _DOCS)
            ),
        )
        if len(brought) == len(cluster.operated):
            return
    from_host = _from_host(operator, ofed)
    if from_host:
        if ofed is Ofed.OPERATOR and present:
            yield error(
                "ofed-from-two-places",
                place(operator, HOST),
                "the GPU Operator is configured for DOCA-OFED on the host, but the Network "
                "Operator installs it in a container",
                f"write {HOST}: false, or addons.networkOperator.ofed: host",
                facts=chain(
                    asked,
                    said(operator, HOST),
                    ofed_fact,
                    ContractFact(
                        "nvidia_peermem is then built against other symbols", "NVIDIA/aicr#1680"
                    ),
                ),
            )
        elif ofed is Ofed.INBOX:
            yield error(
                "ofed-on-no-host",
                place(operator, HOST),
                "the GPU Operator is configured for DOCA-OFED on the host, but no image is "
                "known to contain it",
                "write addons.networkOperator.ofed: host where the image has it",
                facts=chain(asked, said(operator, HOST), ofed_fact, _WAITS),
            )
        return
    if ofed is Ofed.OPERATOR and present:
        yield from _order(cluster, asked, ofed_fact)
    else:
        where = "addons.networkOperator" + (".ofed" if present else ".enabled")
        no_operator = ContractFact(
            "no Network Operator is in the cluster", "addons.networkOperator"
        )
        yield error(
            "driver-waits-for-ofed",
            place(operator, RDMA),
            "every driver pod would wait for a DOCA-OFED container that is never deployed: no "
            "GPU is ever advertised",
            f"write {where}: {'operator' if present else 'true'}, or remove {RDMA} and use DMA-BUF",
            facts=chain(
                asked,
                _WAITS,
                ofed_fact if present else no_operator,
                ContractFact(
                    "the Network Operator's chart makes no NicClusterPolicy since 24.10: without "
                    "one that has an ofedDriver nothing is installed",
                    "NVIDIA/cloud-native-stack#95",
                ),
            ),
        )


def _order(cluster: ClusterFacts, asked: ContractFact, ofed: ContractFact) -> Iterable[Finding]:
    """DOCA-OFED before the GPU driver on nodes that are there already; on new nodes each driver pod
    waits for its own node."""
    network = cluster.spec.addons.network_operator
    there = [p for p in rdma_pools(cluster) if p.existing and p.spec.nodes.min > 0]
    race = ContractFact(
        "both drivers then start at once: GPU driver pods block, or DOCA-OFED reloads the NIC's "
        "modules under nvidia-peermem",
        "NVIDIA/aicr#2499",
    )
    if there and network.wait is False:
        yield error(
            "gpu-driver-before-ofed",
            "addons.networkOperator.wait",
            f"the GPU Operator would not wait for DOCA-OFED on the nodes of {there[0].name}, which "
            "exist already",
            "remove the line: it waits where RDMA nodes exist",
            facts=chain(
                asked,
                ofed,
                ContractFact("nothing waits", "addons.networkOperator.wait"),
                ContractFact(
                    "its nodes are there before the add-ons", f"{there[0].path}.ownership"
                ),
                race,
            ),
        )
    elif network.ownership is not cluster.spec.addons.gpu_operator.ownership:
        yield warning(
            "gpu-driver-before-ofed",
            "addons.networkOperator.ownership",
            "someone else installs one of the two operators: nothing here makes the GPU Operator "
            "wait for DOCA-OFED",
            "see to it that the NicClusterPolicy is ready before the GPU Operator is installed",
            facts=chain(
                asked,
                ofed,
                ContractFact(
                    f"the Network Operator is {network.ownership.value}, the GPU Operator "
                    f"{cluster.spec.addons.gpu_operator.ownership.value}",
                    "addons.networkOperator.ownership",
                ),
                race,
            ),
        )


def _from_host(operator: GpuOperator, ofed: Ofed) -> bool:
    """Whether driver pods take DOCA-OFED from the host: as said, else (typed) as `ofed` says."""
    typed = operator.driver.rdma
    if typed.enabled and typed.use_host_mofed is None and value_at(operator.values, HOST) is None:
        return ofed is Ofed.HOST
    return operator_value(operator, HOST) is True


def _dma_buf(pools: tuple[ContractPool, ...], operator: GpuOperator) -> Iterable[Finding]:
    module = operator_value(operator, "driver.kernelModuleType")
    for pool in pools:
        old = pool.gpu.compute_capability is not None and (
            pool.gpu.compute_capability < OLDEST_FOR_DMA_BUF
        )
        if module != "proprietary" and not old:
            continue
        reason = (
            ContractFact(f"{pool.gpu.key} is older than Turing", f"catalogue GPU {pool.gpu.key}")
            if old
            else said(operator, "driver.kernelModuleType")
        )
        yield error(
            "rdma-without-a-path",
            f"{pool.path}.fabric",
            f"NICs of {pool.name} could not reach GPU memory: DMA-BUF does not work there and "
            "nvidia-peermem is off",
            f"set addons.gpuOperator.{RDMA}: true and addons.networkOperator.ofed: operator"
            + ("" if old else ", or the open kernel module"),
            facts=chain(
                ContractFact("RDMA is wanted", f"{pool.path}.fabric"),
                said(operator, RDMA),
                reason,
                ContractFact("DMA-BUF needs the open kernel module and Turing or later", _DOCS),
            ),
        )


def _storage(operator: GpuOperator) -> Iterable[Finding]:
    """GPUDirect Storage and GDRCopy: modules built next to the driver."""
    for key, name in (("gds.enabled", "GPUDirect Storage"), ("gdrcopy.enabled", "GDRCopy")):
        if operator_value(operator, key) is not True:
            continue
        problem: ContractFact | None = None
        if operator_value(operator, "driver.usePrecompiled") is True:
            problem = said(operator, "driver.usePrecompiled")
        elif key == "gds.enabled" and operator_value(operator, "driver.kernelModuleType") == (
            "proprietary"
        ):
            problem = said(operator, "driver.kernelModuleType")
        if problem is not None:
            yield error(
                f"{key.split('.')[0]}-without-its-module",
                place(operator, key),
                f"{name} cannot be built: {problem.fact}",
                "remove one of the two",
                facts=chain(
                    said(operator, key), problem, ContractFact("the two exclude each other", _DOCS)
                ),
            )
