"""Who advertises the GPUs of a node. Two advertisers assign every GPU twice; none, never.

The image's own plugin, the platform's, the operator's and the DRA driver know nothing of each
other.
"""

from collections.abc import Iterable
from enum import StrEnum

from gpufleet.contract.advertising_programs import serves_by_claims
from gpufleet.contract.declared_site import declared_program
from gpufleet.contract.facts import ClusterFacts, ContractFact, ContractPool, chain
from gpufleet.contract.operator_values import switch
from gpufleet.findings import Finding, error, warning

DRA_VALUES = "addons.draDriver.values"
_TWO = ContractFact(
    "device plugin and DRA driver each offer every GPU, and the scheduler adds them up",
    "NVIDIA/aicr#1327",
)


class Advertiser(StrEnum):
    """Something that offers a node's GPUs to the scheduler."""

    IMAGE = "device plugin of the image"
    PLATFORM = "the platform's device plugin"
    OPERATOR = "the GPU Operator's device plugin"
    PLUGIN_CHART = "the device plugin of its own chart"
    DRA = "the DRA driver"
    NEURON = "AWS Neuron's device plugin"


def intended(pool: ContractPool) -> Advertiser:
    """Who is to advertise the pool's GPUs, from its declaration alone."""
    if pool.gpu.vendor == "aws":
        return Advertiser.NEURON
    if pool.partition.mode == "dra":
        return Advertiser.DRA
    if pool.served_by_platform:
        return Advertiser.PLATFORM
    if pool.image is not None and pool.image.device_plugin:
        return Advertiser.IMAGE
    return Advertiser.PLUGIN_CHART if pool.plugin_chart else Advertiser.OPERATOR


def advertiser_title(pool: ContractPool) -> str:
    """Who is to advertise the pool's GPUs, as sentences name it."""
    who, plugin = intended(pool), pool.platform.facts.plugin
    return plugin.title if who is Advertiser.PLATFORM and plugin is not None else who.value


def validate_advertisers(cluster: ClusterFacts) -> list[Finding]:
    """Findings about nodes that two advertisers or none would serve.

    Pools with `dra` are validated by `contract.dra` for their own images and gates.
    """
    return [*_dra_alongside_plugins(cluster), *_sharing_of_image(cluster)]


def _dra_alongside_plugins(cluster: ClusterFacts) -> Iterable[Finding]:
    """A DRA driver for compute domains serves GPUs too, unless its values disable that."""
    addon = cluster.spec.addons.dra_driver
    pools = [p for p in cluster.pools if intended(p) is not Advertiser.NEURON]
    served = [p for p in pools if intended(p) is not Advertiser.DRA]
    if addon.enabled is not True or len(served) < len(pools) or not served:
        return
    key = "resources.gpus.enabled"
    driver = declared_program(addon, "addons.draDriver", "dra-driver-nvidia-gpu")
    if serves_by_claims(driver).found is not True:
        return
    yield error(
        "two-advertisers",
        "addons.draDriver.enabled",
        f"no pool uses `dra`, but the driver would serve the GPUs of {_names(served)} besides "
        f"{advertiser_title(served[0])}",
        f"write {DRA_VALUES}.{key}: false to keep compute domains only, or `sharing: {{dra: {{}}}}`"
        " on the pools",
        pools=[p.name for p in served],
        facts=chain(
            ContractFact("the DRA driver is installed", "addons.draDriver.enabled"),
            ContractFact(f"{key} is true by default", "dra-driver-nvidia-gpu chart 0.5.0"),
            ContractFact(
                f"{served[0].name} is served by {advertiser_title(served[0])}", served[0].path
            ),
            _TWO,
        ),
    )


def _sharing_of_image(cluster: ClusterFacts) -> Iterable[Finding]:
    """The image's plugin reads the image's settings: the operator's ConfigMaps never reach it."""
    operator = cluster.spec.addons.gpu_operator
    for pool in cluster.pools:
        if intended(pool) is not Advertiser.IMAGE or pool.image is None:
            continue
        mode = pool.partition.mode
        if mode == "exclusive":
            continue
        yield error(
            "image-plugin-shares-by-itself",
            f"{pool.path}.sharing",
            f"GPUs of {pool.name} are advertised by the plugin in {pool.image.key}, which does not "
            f"read the configuration that says {mode}",
            "choose an image without a device plugin, or `sharing: {exclusive: {}}`",
            found=mode,
            facts=chain(
                pool.image_fact,
                ContractFact(f"sharing is {mode}", f"{pool.path}.sharing"),
                ContractFact(
                    "the plugin runs as a service of the system with settings of its own",
                    "bottlerocket-os/bottlerocket#2347",
                ),
            ),
        )
    declared, path = switch(operator, "device_plugin", "devicePlugin")
    wanted = [p for p in cluster.pools if intended(p) is Advertiser.OPERATOR]
    if operator.enabled is False and wanted and operator.ownership.value == "managed":
        yield warning(
            "gpus-advertised-by-nobody",
            "addons.gpuOperator.enabled",
            f"gpufleet installs nothing that advertises the GPUs of {_names(wanted)}: the image "
            "has no device plugin and the GPU Operator is switched off",
            "remove the line, or say `ownership: existing` when someone else installs it",
            pools=[p.name for p in wanted],
            facts=chain(
                wanted[0].image_fact,
                ContractFact("the GPU Operator is off", "addons.gpuOperator.enabled"),
                None if declared is None else ContractFact("its plugin is decided", path),
            ),
        )


def _names(pools: list[ContractPool]) -> str:
    shown = ", ".join(p.name for p in pools[:5])
    return shown + (", ..." if len(pools) > 5 else "")
