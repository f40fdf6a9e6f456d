"""Advertisers of a node's GPUs: exactly one. Two advertisers assign every GPU twice.

The device plugins of the image, the platform and the operator and the DRA driver work independently
of each other.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from gpufleet.cluster.cluster import ClusterModel
from gpufleet.cluster.pool import NodePool
from gpufleet.contract.advertising_programs import (
    TWO_ADVERTISERS,
    TWO_PLUGINS,
    offered_twice,
    serves_by_claims,
)
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.contract.relation import DRA_DRIVER, GPU_OPERATOR, Broken, image_of, place_of
from gpufleet.findings import findings_in

_finding = findings_in(__file__)


class Advertiser(StrEnum):
    """A program that offers a node's GPUs to the scheduler."""

    IMAGE = "image"
    PLATFORM = "platform"
    OPERATOR = "operator"
    PLUGIN_CHART = "plugin"
    DRA = "claims"
    NEURON = "neuron"
    """AWS Neuron's."""


TITLES = {
    Advertiser.IMAGE: "device plugin of the image",
    Advertiser.PLATFORM: "the platform's device plugin",
    Advertiser.OPERATOR: "the GPU Operator's device plugin",
    Advertiser.PLUGIN_CHART: "the device plugin of its own chart",
    Advertiser.DRA: "the DRA driver",
    Advertiser.NEURON: "AWS Neuron's device plugin",
}
"""Their names in messages."""


def validate_advertisers(cluster: ClusterModel) -> Iterator[Broken]:
    """Nodes with two advertisers, or none.

    Pools with `dra` are validated by `contract.dra` for their own images and gates.
    """
    yield from _claims_alongside_plugins(cluster)
    yield from _owned_by_gpu_cluster(cluster)
    yield from _programs_twice(cluster)
    yield from _sharing_of_image(cluster)
    yield from _advertised_by_nobody(cluster)


def _claims_alongside_plugins(cluster: ClusterModel) -> Iterator[Broken]:
    """A DRA driver for compute domains also serves GPUs, unless its values disable that."""
    pools = [p for p in cluster.pools if p.advertiser.found != Advertiser.NEURON]
    served = [p for p in pools if p.advertiser.found != Advertiser.DRA]
    driver = cluster.program(DRA_DRIVER)
    if not cluster.complete or driver is None or len(served) < len(pools) or not served:
        return
    key = "resources.gpus.enabled"
    if serves_by_claims(driver).found is not True:
        return
    who, field = TITLES[Advertiser(served[0].advertiser.value)], driver.field(key)
    enabled, pools = "addons.draDriver.enabled", [p.name for p in served]
    names = _names(served)
    finding = _finding("two-advertisers", enabled, names=names, who=who, field=field, pools=pools)
    yield Broken.of(
        finding,
        driver,
        ContractFact("the DRA driver is installed", enabled),
        ContractFact(f"{key} is true by default", "dra-driver-nvidia-gpu chart 0.5.0"),
        ContractFact(f"{served[0].name} is served by {who}", served[0].declared_at),
    )


def _owned_by_gpu_cluster(cluster: ClusterModel) -> Iterator[Broken]:
    """The DRA driver of the operator's GPUCluster together with that of its own chart, and pools
    that need a device plugin or a MIG manager, which a GPUCluster does not run."""
    operator, driver = cluster.program(GPU_OPERATOR), cluster.program(DRA_DRIVER)
    if operator is None or operator.switch("gpuCluster.deployCR", False).found is not True:
        return
    field = operator.field("gpuCluster.deployCR")
    if driver is not None and driver.ownership.found != "existing":
        yield Broken.of(_finding("two-advertisers/operator", field), operator)
    for pool in cluster.pools:
        served = pool.advertiser.found
        cut = served == Advertiser.DRA and pool.shared.mig.found is True
        if cut or served == Advertiser.OPERATOR:
            place = place_of(pool, "sharing", pool.shared.place)
            finding = _finding("gpu-cluster-serves-claims", place, pool=pool.name, field=field)
            yield Broken.of(finding, pool)


def _programs_twice(cluster: ClusterModel) -> Iterator[Broken]:
    """Programs that serve the same nodes, by their values; a declaration has more facts."""
    if cluster.complete:
        return
    reported: set[int] = set()
    for pair in offered_twice(cluster.site.programs):
        if id(pair.one) in reported:
            continue
        reported.add(id(pair.one))
        what = "too" if pair.plugins else "for the same GPUs"
        yield Broken(
            code="two-advertisers",
            at=pair.one,
            place="",
            message=f"{pair.other.locator} runs a device plugin {what}",
            fix=pair.fix,
            facts=(TWO_PLUGINS if pair.plugins else TWO_ADVERTISERS,),
        )


def _sharing_of_image(cluster: ClusterModel) -> Iterator[Broken]:
    """The image's plugin reads the image's settings, never the operator's ConfigMaps."""
    for pool in cluster.pools:
        mode = pool.shared.strategy.found
        if pool.advertiser.found != Advertiser.IMAGE or mode in (None, "exclusive"):
            continue
        place = place_of(pool, "sharing", pool.shared.place)
        finding = _finding(
            "image-plugin-shares-by-itself",
            place,
            pool=pool.name,
            image=pool.image.found,
            found=mode,
        )
        yield Broken.of(finding, pool, image_of(pool))


def _advertised_by_nobody(cluster: ClusterModel) -> Iterator[Broken]:
    """Pools for an operator that is not installed."""
    wanted = [p for p in cluster.pools if p.advertiser.found == Advertiser.OPERATOR]
    gone = cluster.program(GPU_OPERATOR) is None and GPU_OPERATOR not in cluster.elsewhere
    if not cluster.complete or not wanted or not gone:
        return
    pools = [p.name for p in wanted]
    place, names = "addons.gpuOperator.enabled", _names(wanted)
    finding = _finding("gpus-advertised-by-nobody", place, names=names, pools=pools)
    yield Broken.of(finding, None, image_of(wanted[0]))


def _names(pools: Sequence[NodePool]) -> str:
    shown = ", ".join(p.name for p in pools[:5])
    return shown + (", ..." if len(pools) > 5 else "")
