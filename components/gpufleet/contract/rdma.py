"""GPUDirect RDMA and Storage: one path from NIC to GPU memory, and who must be there first.

DMA-BUF needs the open kernel module, a Turing GPU or later and a kernel from 5.12 on; the legacy
path, nvidia-peermem, needs DOCA-OFED on the node before the driver container starts (NVIDIA
cloud-native-docs `gpu-operator/gpu-operator-rdma.rst`). EFA and Google's fabrics need neither.
"""

from collections.abc import Iterator

from gpufleet.cluster.cluster import ClusterModel
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.program import Program
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.contract.operator_values import said_of, value_of
from gpufleet.contract.relation import (
    GPU_OPERATOR,
    NETWORK_OPERATOR,
    NIC_POLICY,
    Broken,
    image_of,
    place_of,
)
from gpufleet.documents.shapes import is_mapping

OLDEST_FOR_DMA_BUF = (7, 5)
"""Turing."""
RDMA = "driver.rdma.enabled"
HOST = "driver.rdma.useHostMofed"
MODULES = "driver.kernelModuleType"
_DOCS = "NVIDIA cloud-native-docs gpu-operator/gpu-operator-rdma.rst"
_NETWORK = "addons.networkOperator"
_WAITS = ContractFact(
    "with driver.rdma.enabled every driver pod waits until DOCA-OFED says that it is ready", _DOCS
)
_RACE = ContractFact(
    "both drivers then start at once: GPU driver pods block, or DOCA-OFED reloads the NIC's "
    "modules under nvidia-peermem",
    "NVIDIA/aicr#2499",
)


def rdma_pools(cluster: ClusterModel) -> tuple[NodePool, ...]:
    """Pools whose nodes reach each other through NICs that the Network Operator looks after."""
    return tuple(pool for pool in cluster.pools if pool.fabric.found == "rdma")


def validate_rdma(cluster: ClusterModel) -> Iterator[Broken]:
    """The way from NIC to GPU, over both operators and the images."""
    pools = rdma_pools(cluster)
    if pools and cluster.complete and cluster.program(NETWORK_OPERATOR) is None:
        yield _no_network_operator(pools)
    for operator in cluster.programs(GPU_OPERATOR):
        if value_of(operator, RDMA) is True:
            yield from _peermem(cluster, operator)
        elif value_of(operator, RDMA) is False:
            yield from _dma_buf(cluster, operator)
        yield from _storage(operator)


def _no_network_operator(pools: tuple[NodePool, ...]) -> Broken:
    return Broken(
        code="rdma-without-network-operator",
        at=None,
        place=f"{_NETWORK}.enabled",
        message=f"{', '.join(p.name for p in pools)} want RDMA, and the Network Operator is "
        "switched off: no pod could ask for an RDMA device",
        fix="remove the line, or say `ownership: existing` when someone else installs it",
        facts=(
            *(
                ContractFact(f"fabric of {p.name} is rdma", place_of(p, "fabric"))
                for p in pools[:3]
            ),
            ContractFact("the Network Operator is off", f"{_NETWORK}.enabled"),
            ContractFact(
                "RDMA devices are advertised by its device plugins", "network-operator 26.4.1"
            ),
        ),
    )


def _peermem(cluster: ClusterModel, operator: Program) -> Iterator[Broken]:
    asked, place = said_of(operator, RDMA), operator.field(RDMA)
    brought = [pool for pool in cluster.operated if "driver" in (pool.brings.found or ())]
    if brought:
        yield Broken(
            code="peermem-without-driver-container",
            at=operator,
            place=place,
            message="nvidia-peermem is loaded by a container of the operator's driver pod, and "
            f"{', '.join(p.name for p in brought)} get the driver from their image: it does "
            "nothing there",
            fix="remove the line: DMA-BUF needs no setting, and EFA none of this",
            certain=False,
            facts=(
                asked,
                image_of(brought[0]),
                ContractFact("so no driver pod runs there", _DOCS),
            ),
        )
        if len(brought) == len(cluster.operated):
            return
    yield from _ofed(cluster, operator, asked)


def _ofed(cluster: ClusterModel, operator: Program, asked: ContractFact) -> Iterator[Broken]:
    """Who installs DOCA-OFED, and whom the driver pods wait for."""
    policy = cluster.program(NIC_POLICY)
    source = cluster.ofed.found
    by_operator = source == "operator" and policy is not None
    ofed = ContractFact(
        f"DOCA-OFED comes from: {source}"
        if source is not None
        else "the NicClusterPolicy has no ofedDriver",
        cluster.ofed.place,
    )
    if value_of(operator, HOST) is True:
        if by_operator:
            yield Broken(
                code="ofed-from-two-places",
                at=operator,
                place=operator.field(HOST),
                message="the GPU Operator is configured for DOCA-OFED on the host, but the "
                "Network Operator installs it in a container",
                fix=f"write {HOST}: false, or take DOCA-OFED from the host ({_NETWORK}.ofed: host)",
                facts=(
                    asked,
                    said_of(operator, HOST),
                    ofed,
                    ContractFact(
                        "nvidia_peermem is then built against other symbols", "NVIDIA/aicr#1680"
                    ),
                ),
            )
        elif source == "inbox":
            yield Broken(
                code="ofed-on-no-host",
                at=operator,
                place=operator.field(HOST),
                message="the GPU Operator is configured for DOCA-OFED on the host, but no image "
                "is known to contain it",
                fix=f"write {_NETWORK}.ofed: host where the image has it",
                facts=(asked, said_of(operator, HOST), ofed, _WAITS),
            )
    elif by_operator:
        yield from _order(cluster, asked, ofed)
    elif value_of(operator, HOST) is False and (policy is not None or cluster.complete):
        present = policy is not None
        yield Broken(
            code="driver-waits-for-ofed",
            at=operator,
            place=operator.field(RDMA),
            message="every driver pod would wait for a DOCA-OFED container that is never "
            "deployed: no GPU is ever advertised",
            fix=_with_ofed(cluster, present=present) + f", or remove {RDMA} and use DMA-BUF",
            facts=(
                asked,
                _WAITS,
                ofed
                if present
                else ContractFact("no Network Operator is in the cluster", _NETWORK),
                ContractFact(
                    "the Network Operator's chart makes no NicClusterPolicy since 24.10: without "
                    "one that has an ofedDriver nothing is installed",
                    "NVIDIA/cloud-native-stack#95",
                ),
            ),
        )


def _with_ofed(cluster: ClusterModel, *, present: bool) -> str:
    if not cluster.complete:
        return "write ofedDriver into the NicClusterPolicy"
    return f"write {_NETWORK}{'.ofed: operator' if present else '.enabled: true'}"


def _order(cluster: ClusterModel, asked: ContractFact, ofed: ContractFact) -> Iterator[Broken]:
    """DOCA-OFED before the GPU driver on nodes that are there already; on new nodes each driver pod
    waits for its own node."""
    operator, network = cluster.program(GPU_OPERATOR), cluster.program(NETWORK_OPERATOR)
    there = [p for p in rdma_pools(cluster) if p.existing and p.size.minimum.found]
    if there and cluster.waits_for_ofed.found is False:
        yield Broken(
            code="gpu-driver-before-ofed",
            at=network,
            place=f"{_NETWORK}.wait",
            message="the GPU Operator would not wait for DOCA-OFED on the nodes of "
            f"{there[0].name}, which exist already",
            fix="remove the line: it waits where RDMA nodes exist",
            facts=(
                asked,
                ofed,
                ContractFact("nothing waits", f"{_NETWORK}.wait"),
                ContractFact(
                    "its nodes are there before the add-ons", place_of(there[0], "ownership")
                ),
                _RACE,
            ),
        )
        return
    first = None if network is None else network.ownership.found
    second = None if operator is None else operator.ownership.found
    if first is not None and second is not None and first != second:
        yield Broken(
            code="gpu-driver-before-ofed",
            at=network,
            place=f"{_NETWORK}.ownership",
            message="someone else installs one of the two operators: nothing here makes the GPU "
            "Operator wait for DOCA-OFED",
            fix="see to it that the NicClusterPolicy is ready before the GPU Operator is installed",
            certain=False,
            facts=(
                asked,
                ofed,
                ContractFact(
                    f"the Network Operator is {first}, the GPU Operator {second}",
                    f"{_NETWORK}.ownership",
                ),
                _RACE,
            ),
        )


def _dma_buf(cluster: ClusterModel, operator: Program) -> Iterator[Broken]:
    """Kernel modules and GPUs that DMA-BUF does not work with."""
    proprietary = value_of(operator, MODULES) == "proprietary"
    because = said_of(operator, MODULES)
    for pool in rdma_pools(cluster):
        gpu = cluster.catalogue.gpus.get(pool.gpu.found or "")
        capability = None if gpu is None else gpu.compute_capability
        old = capability is not None and capability < OLDEST_FOR_DMA_BUF
        if proprietary or old:
            if old:
                key = pool.gpu.found
                because = ContractFact(f"{key} is older than Turing", f"catalogue GPU {key}")
            place = place_of(pool, "fabric")
            wanted = ContractFact("RDMA is wanted", place)
            yield _without_path(pool, place, f"NICs of {pool.name}", wanted, because, old=old)
    served = cluster.program(NIC_POLICY)
    if cluster.complete or served is None or not proprietary:
        return
    for section in ("rdmaSharedDevicePlugin", "sriovDevicePlugin"):
        if is_mapping(served.value(section)):
            place = operator.field(MODULES)
            wanted = ContractFact(f"the NicClusterPolicy has {section}", served.field(section))
            yield _without_path(operator, place, "NICs", wanted, because, old=False)
            return


def _without_path(
    at: NodePool | Program,
    place: str,
    who: str,
    wanted: ContractFact,
    because: ContractFact,
    *,
    old: bool,
) -> Broken:
    return Broken(
        code="rdma-without-a-path",
        at=at,
        place=place,
        message=f"{who} could not reach GPU memory: DMA-BUF does not work there and "
        "nvidia-peermem is off",
        fix=(
            f"set addons.gpuOperator.{RDMA}: true and {_NETWORK}.ofed: operator"
            if isinstance(at, NodePool)
            else f"set {RDMA}: true, with an ofedDriver in the NicClusterPolicy"
        )
        + ("" if old else ", or the open kernel module"),
        certain=isinstance(at, NodePool),
        facts=(
            wanted,
            ContractFact("nvidia-peermem is off", RDMA),
            because,
            ContractFact("DMA-BUF needs the open kernel module and Turing or later", _DOCS),
        ),
    )


def _storage(operator: Program) -> Iterator[Broken]:
    """GPUDirect Storage and GDRCopy: modules built next to the driver."""
    for key, name in (("gds.enabled", "GPUDirect Storage"), ("gdrcopy.enabled", "GDRCopy")):
        if value_of(operator, key) is not True:
            continue
        problem: ContractFact | None = None
        if value_of(operator, "driver.usePrecompiled") is True:
            problem = said_of(operator, "driver.usePrecompiled")
        elif key == "gds.enabled" and value_of(operator, MODULES) == "proprietary":
            problem = said_of(operator, MODULES)
        if problem is not None:
            yield Broken(
                code=f"{key.split('.')[0]}-without-its-module",
                at=operator,
                place=operator.field(key),
                message=f"{name} cannot be built: {problem.fact}",
                fix="remove one of the two",
                facts=(
                    said_of(operator, key),
                    problem,
                    ContractFact("the two exclude each other", _DOCS),
                ),
            )
