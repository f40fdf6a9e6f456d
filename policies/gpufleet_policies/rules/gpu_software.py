"""Driver, toolkit and device plugin: one of them each on a node; images that fit its GPU."""

import re
from collections.abc import Iterator

from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.fact import NOTHING
from gpufleet.cluster.nvidia import OperatorChoices
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.contract.driver_ranges import cuda_problem
from gpufleet.contract.machine_images import lacks_driver, named_image, refused_images
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.checked import kubernetes_minor
from gpufleet_policies.rules.placement import accepts
from gpufleet_policies.rules.pool_money import nodes_money, smallest
from gpufleet_policies.rules.pools import all_pools, gpu_pools, template_of, validated_pools
from gpufleet_policies.rules.written import written_rule

_LIMITS = {
    "toolkit": "the second one rewrites the runtime's configuration and restarts it",
    "device_plugin": "the kubelet keeps the devices of the plugin that registered last",
}


@written_rule("gpu-software-installed-twice", NodePool)
def installed_twice(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """The GPU Operator runs a part that the image of the pool has, and no label of the nodes
    (`nvidia.com/gpu.deploy.<part>: "false"`) switches the operator's part off."""
    # Who brings what is the contract's: its models are only imported where an image is known.
    for pool in gpu_pools(context, subject):
        named = pool.image.is_known
        image = named_image(pool.image.value, context.catalogue) if named else None
        if image is None or not pool.labels_known:
            continue
        from gpufleet.contract.owners import DEPLOY_LABELS, PARTS

        for choices in context.declared(OperatorChoices):
            if choices.installs != "gpu-operator":
                continue
            # Nodes whose image has the driver are labelled so by the operator, which runs none.
            switches = {"toolkit": choices.toolkit_enabled, "device_plugin": choices.plugin_enabled}
            for part, enabled in switches.items():
                label, key = DEPLOY_LABELS[part], dict(PARTS)[part]
                both = getattr(image, part) and enabled.found is True
                if not both or pool.labels.get(label) == "false":
                    continue
                words = part.replace("_", " ")
                yield installed_twice.say(
                    pool.image.place or "amiType",
                    pool=pool,
                    words=words,
                    choices=choices,
                    key=key,
                    label=label,
                    part=part,
                    image=image,
                    limit=_LIMITS[part],
                    certain=part == "device_plugin",
                    money=nodes_money(context, pool, smallest(pool), AmountKind.EXPOSURE),
                )


@written_rule("pool-image-refused", NodePool)
def image_refused(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """The name of the image states its architecture, and the machine types are known. Silent for
    Karpenter's pools: karpenter-image-architecture and karpenter-al2-ended report node classes."""
    minor = kubernetes_minor(context)
    for pool in validated_pools(context, subject):
        if pool.maker is Maker.KARPENTER or pool.is_certainly_not_gpu:
            continue
        template = template_of(pool, context.surroundings)
        own = NOTHING if template is None else template.image
        for one in refused_images(pool, own, minor, context.catalogue):
            yield image_refused.say(pool.image.place or "amiType", one=one, evidence=one.evidence)


@written_rule("pool-image-without-driver", NodePool)
def image_without_driver(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """The image's name is that of one without a driver. User data may install a driver, so it is
    advice. Silent for pools of Karpenter, which karpenter-image-without-driver reports."""
    for pool in gpu_pools(context, subject):
        if pool.maker is Maker.KARPENTER or not pool.image.is_known:
            continue
        if lacks_driver(pool.image.value):
            yield image_without_driver.say(
                pool.image.place or "amiType",
                pool=pool,
                money=nodes_money(context, pool, smallest(pool), AmountKind.EXPOSURE),
            )


_TAG = re.compile(r"cuda-?([0-9]{2})\.([0-9])")
"""In a tag: `2.9.0-cuda13.0-cudnn9-runtime`."""
_OWN_TAG = re.compile(r"([0-9]{2})\.([0-9])")
"""Begin of a tag of NVIDIA's CUDA images: `13.0.1-base-ubuntu24.04`."""


@written_rule("cuda-not-for-gpu")
def cuda_for_gpu(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """The tag names the toolkit (`nvidia/cuda:13.0.1-...`, `pytorch:2.9.0-cuda13.0-...`), and no
    GPU pool that may take the pods has a GPU it supports."""
    for group in workload.pod_groups:
        if not group.gpu_resources:
            continue
        pools = [
            (pool, gpu)
            for pool in all_pools(context)
            if pool.is_certainly_gpu and accepts(context, pool, group) is not False
            if (gpu := context.catalogue.gpus.get(pool.gpu.found or ""))
        ]
        for container in group.containers:
            cuda = _cuda_of(container.image.found) if container.gpu_resources else None
            if cuda is None or not pools:
                continue
            problems = [cuda_problem(gpu, cuda, context.catalogue) for _, gpu in pools]
            first = problems[0]
            if first is None or None in problems:
                continue
            names = ", ".join(pool.name for pool, _ in pools)
            yield cuda_for_gpu.say(
                container=container,
                first=first,
                names=names,
                cuda=cuda,
                gpus=sorted({gpu.key for _, gpu in pools}),
            )


def _cuda_of(image: str | None) -> str | None:
    """The toolkit that an image's tag names; None where it names none."""
    name, _, tag = (image or "").partition("@")[0].rpartition(":")
    if not name or "/" in tag:
        return None
    found = _OWN_TAG.match(tag) if name.endswith("nvidia/cuda") else _TAG.search(tag)
    return None if found is None else f"{found[1]}.{found[2]}"
