"""GPUDirect RDMA and Storage: one path from NIC to GPU memory, and the order of installation.

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
from gpufleet.findings import findings_in

_finding = findings_in(__file__)

OLDEST_FOR_DMA_BUF = (7, 5)
"""Turing."""
RDMA = "driver.rdma.enabled"
HOST = "driver.rdma.useHostMofed"
MODULES = "driver.kernelModuleType"
_DOCS = "NVIDIA cloud-native-docs gpu-operator/gpu-operator-rdma.rst"
_NETWORK = "addons.networkOperator"
_WAITS = ContractFact(
    "with driver.rdma.enabled every driver pod waits until DOCA-OFED reports readiness", _DOCS
)


def rdma_pools(cluster: ClusterModel) -> tuple[NodePool, ...]:
    """Pools whose nodes communicate through NICs that the Network Operator serves."""
    return tuple(pool for pool in cluster.pools if pool.fabric.found == "rdma")


def validate_rdma(cluster: ClusterModel) -> Iterator[Broken]:
    """The path from NIC to GPU, over both operators and the images."""
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
    names = ", ".join(pool.name for pool in pools)
    finding = _finding("rdma-without-network-operator", f"{_NETWORK}.enabled", pools=names)
    wanted = [ContractFact(f"fabric of {p.name} is rdma", place_of(p, "fabric")) for p in pools[:3]]
    return Broken.of(finding, None, *wanted)


def _peermem(cluster: ClusterModel, operator: Program) -> Iterator[Broken]:
    asked, place = said_of(operator, RDMA), operator.field(RDMA)
    brought = [pool for pool in cluster.operated if "driver" in (pool.brings.found or ())]
    if brought:
        names = ", ".join(pool.name for pool in brought)
        finding = _finding("peermem-without-driver-container", place, pools=names)
        yield Broken.of(finding, operator, asked, image_of(brought[0]))
        if len(brought) == len(cluster.operated):
            return
    yield from _ofed(cluster, operator, asked)


def _ofed(cluster: ClusterModel, operator: Program, asked: ContractFact) -> Iterator[Broken]:
    """The installer of DOCA-OFED, and what the driver pods wait for."""
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
        place, on_host = operator.field(HOST), said_of(operator, HOST)
        if by_operator:
            finding = _finding("ofed-from-two-places", place)
            yield Broken.of(finding, operator, asked, on_host, ofed)
        elif source == "inbox":
            yield Broken.of(_finding("ofed-on-no-host", place), operator, asked, on_host, ofed)
    elif by_operator:
        yield from _order(cluster, asked, ofed)
    elif value_of(operator, HOST) is False and (policy is not None or cluster.complete):
        present = policy is not None
        fix = _with_ofed(cluster, present=present) + f", or remove {RDMA} and use DMA-BUF"
        finding = _finding("driver-waits-for-ofed", operator.field(RDMA), fix=fix)
        absent = ContractFact("no Network Operator is in the cluster", _NETWORK)
        yield Broken.of(finding, operator, asked, _WAITS, ofed if present else absent)


def _with_ofed(cluster: ClusterModel, *, present: bool) -> str:
    if not cluster.complete:
        return "write ofedDriver into the NicClusterPolicy"
    return f"write {_NETWORK}{'.ofed: operator' if present else '.enabled: true'}"


def _order(cluster: ClusterModel, asked: ContractFact, ofed: ContractFact) -> Iterator[Broken]:
    """DOCA-OFED before the GPU driver on existing nodes; on new nodes each driver pod waits for its
    own node."""
    operator, network = cluster.program(GPU_OPERATOR), cluster.program(NETWORK_OPERATOR)
    there = [p for p in rdma_pools(cluster) if p.existing and p.size.minimum.found]
    if there and cluster.waits_for_ofed.found is False:
        name, place = there[0].name, f"{_NETWORK}.wait"
        facts = (
            ContractFact("nothing waits", place),
            ContractFact("its nodes are there before the add-ons", place_of(there[0], "ownership")),
        )
        finding = _finding("gpu-driver-before-ofed", place, pool=name)
        yield Broken.of(finding, network, asked, ofed, *facts)
        return
    first = None if network is None else network.ownership.found
    second = None if operator is None else operator.ownership.found
    if first is not None and second is not None and first != second:
        place = f"{_NETWORK}.ownership"
        owners = ContractFact(f"the Network Operator is {first}, the GPU Operator {second}", place)
        finding = _finding("gpu-driver-before-ofed/two-owners", place)
        yield Broken.of(finding, network, asked, ofed, owners)


def _dma_buf(cluster: ClusterModel, operator: Program) -> Iterator[Broken]:
    """Kernel modules and GPUs that do not support DMA-BUF."""
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
    off = ContractFact("nvidia-peermem is off", RDMA)
    module = "" if old else ", or the open kernel module"
    if isinstance(at, NodePool):
        fix = f"set addons.gpuOperator.{RDMA}: true and {_NETWORK}.ofed: operator{module}"
        finding = _finding("rdma-without-a-path", place, fix=fix, who=who)
    else:
        fix = f"set {RDMA}: true, with an ofedDriver in the NicClusterPolicy{module}"
        finding = _finding("rdma-without-a-path/files", place, fix=fix, who=who)
    return Broken.of(finding, at, wanted, off, because)


def _storage(operator: Program) -> Iterator[Broken]:
    """GPUDirect Storage and GDRCopy: modules that are built together with the driver."""
    for key in ("gds.enabled", "gdrcopy.enabled"):
        if value_of(operator, key) is not True:
            continue
        problem: ContractFact | None = None
        if value_of(operator, "driver.usePrecompiled") is True:
            problem = said_of(operator, "driver.usePrecompiled")
        elif key == "gds.enabled" and value_of(operator, MODULES) == "proprietary":
            problem = said_of(operator, MODULES)
        if problem is not None:
            place = operator.field(key)
            if key == "gds.enabled":
                finding = _finding("gds-without-its-module", place, problem=problem.fact)
            else:
                finding = _finding("gdrcopy-without-its-module", place, problem=problem.fact)
            yield Broken.of(finding, operator, said_of(operator, key), problem)
