"""Pods whose own labels of nodes describe no node that has what they request."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from gpufleet.catalogue import AWS, Catalogue
from gpufleet.catalogue.lookup import nearest_names, nearest_types
from gpufleet.cluster import PodGroup, WorkloadFacts
from gpufleet.cluster.container import GPU, MIG_PREFIX, SHARED_SUFFIX
from gpufleet.cluster.nvidia import SharingConfig
from gpufleet.contract.programs.karpenter_keys import gpu_names
from gpufleet.findings import Finding, Level
from gpufleet.rules.context import RuleContext
from gpufleet_policies.readers.gke import GKE_ACCELERATOR
from gpufleet_policies.rules.hardware import GKE_PARTITION, GKE_STRATEGY, SHARING_LABELS
from gpufleet_policies.rules.placement import (
    GPU_LABELS,
    INSTANCE_TYPE_LABELS,
    PRODUCT_LABEL,
    gpu_requests,
    named_gpus,
)
from gpufleet_policies.rules.written import written_rule

COUNT_LABELS = ("karpenter.k8s.aws/instance-gpu-count", "cloud.google.com/gke-accelerator-count")
"""Labels whose value is the number of GPUs of a node."""

_AWS_NAMES = ("karpenter.k8s.aws/instance-gpu-name", "eks.amazonaws.com/instance-gpu-name")
_EC2_WITHOUT = re.compile(
    r"[a-fh-oq-z][a-z0-9-]*\.(?:nano|micro|small|medium|\d*x?large|metal[a-z0-9-]*)"
)
"""Types of EC2 outside of the families of GPUs, `g` and `p`."""

_SLICE_OF_NODE = re.compile(r"-MIG-[0-9a-zA-Z.]+(?:-SHARED)?$")


@dataclass(frozen=True, slots=True)
class _Named:
    """Facts of one label about the GPUs of a node."""

    label: str
    said: str
    """Its values in words."""
    gpus: frozenset[str]
    """Keys of the catalogue; empty: the machines have no NVIDIA GPU."""

    def __str__(self) -> str:
        return f"{self.label}: {self.said}"


@dataclass(frozen=True, slots=True)
class _Limit:
    """Why no node can take the pods."""

    why: str
    instead: str
    at_most: Level = Level.MANDATORY
    then: str = "the pod would stay Pending"


@written_rule("gpu-pod-selects-no-node")
def selects_no_node(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Labels that exclude one another, a slice that the named GPU does not have, or more GPUs than
    the labels name: advice, because an undeclared program may share GPUs. Also advice where a
    cloud's label has a value that no row of the catalogue has: it may be new."""
    if context.fleet is not None:
        return  # gpu-resource-not-offered
    for group in workload.running_groups():
        asked = dict(gpu_requests(group))
        if not any(resource.startswith("nvidia.com/") for resource in asked):
            continue
        named = tuple(_named(context.catalogue, group))
        yield from _impossible(context, group, named, asked)
        yield from _unknown_names(context.catalogue, group)
        yield from _not_shared(context, group, asked)


def _named(catalogue: Catalogue, group: PodGroup) -> Iterator[_Named]:
    for label, values in group.node_labels.items():
        found = [_gpus(catalogue, label, value) for value in values]
        known = [one for one in found if one is not None]
        if known and len(known) == len(found):
            yield _Named(label, " or ".join(sorted(values)), frozenset[str]().union(*known))


def _gpus(catalogue: Catalogue, label: str, value: str) -> frozenset[str] | None:
    """GPUs that a node with a label may have; None: the label does not limit them."""
    if label in INSTANCE_TYPE_LABELS:
        row = catalogue.sold(value)
        if row is not None:
            return frozenset({row.accelerator.gpu})
        return frozenset() if _EC2_WITHOUT.fullmatch(value) else None
    return named_gpus(catalogue, label, value) if label in GPU_LABELS else None


def _impossible(
    context: RuleContext, group: PodGroup, named: tuple[_Named, ...], asked: Mapping[str, int]
) -> Iterator[Finding]:
    """The first thing that no node can meet: the others may follow from it."""
    limit = (
        _contradiction(context.catalogue, group, named)
        or _slice(context.catalogue, group, named, asked)
        or _count(context, group, asked)
    )
    if limit is not None:
        wanted = ", ".join(f"{count} x {resource}" for resource, count in asked.items())
        yield selects_no_node.say(
            group.where,
            wanted=wanted,
            bound=limit,
            resources=dict(asked),
            labels=[str(one) for one in named],
            at_most=limit.at_most,
        )


def _contradiction(
    catalogue: Catalogue, group: PodGroup, named: tuple[_Named, ...]
) -> _Limit | None:
    for index, one in enumerate(named):
        if not one.gpus:
            return _Limit(
                f"{one.said} of EC2 has no NVIDIA GPU",
                f"name a machine with GPUs for `{one.label}`",
                Level.ADVISORY,  # other clouds may have the name
            )
        for other in named[:index]:
            if not one.gpus & other.gpus:
                return _Limit(
                    f"{other} means {_listed(other.gpus)}, {one} means {_listed(one.gpus)}",
                    "keep the label that matches the program's need",
                )
    wanted = group.node_labels.get("kubernetes.io/arch", frozenset())
    for label in INSTANCE_TYPE_LABELS:
        rows = [catalogue.sold(name) for name in group.node_labels.get(label, ())]
        have = {row.architecture for row in rows if row is not None}
        if rows and None not in rows and wanted and not have & wanted:
            return _Limit(
                f"{label} names machines with {_listed(have)}, kubernetes.io/arch requests "
                f"{_listed(wanted)}",
                f"write `kubernetes.io/arch: {sorted(have)[0]}`, with an image for it",
            )
    return None


def _slice(
    catalogue: Catalogue, group: PodGroup, named: tuple[_Named, ...], asked: Mapping[str, int]
) -> _Limit | None:
    """A MIG profile that none of the GPUs has which the labels allow."""
    wanted = [
        resource.removeprefix(MIG_PREFIX).removesuffix(SHARED_SUFFIX)
        for resource in asked
        if resource.startswith(MIG_PREFIX)
    ]
    products = group.node_labels.get(PRODUCT_LABEL, frozenset())
    if wanted and products and all(_SLICE_OF_NODE.search(value) for value in products):
        return _Limit(
            f"{PRODUCT_LABEL} ends in -MIG- and a profile only where the MIG strategy is `single`, "
            f"and there slices are {GPU}",
            f"request {GPU}, or select the product without the suffix",
        )
    sizes = group.node_labels.get(GKE_PARTITION, frozenset())
    for label in named:
        rows = [catalogue.gpu(key) for key in label.gpus]
        if any(row.mig_unknown is not None for row in rows):
            continue
        have = mig_names(catalogue, label.gpus)
        lacking = [one for one in wanted if one not in have]
        if not lacking and sizes and not sizes.intersection(have):
            lacking = sorted(sizes)
        if lacking:
            plain = sorted({row.name for row in rows})
            compute = lacking[0].partition(".")[0]
            near = [one for one in have if one.startswith(f"{compute}.")] or have
            return _Limit(
                f"{_listed(plain)} ({label}) has no MIG slice {lacking[0]}"
                + ("" if have else ", as it has no MIG"),
                f"request one that it has, such as {near[0]}"
                if near
                else f"request {GPU}, or select a GPU with MIG",
            )
    return None


@lru_cache(maxsize=64)
def mig_names(catalogue: Catalogue, gpus: frozenset[str] | None = None) -> tuple[str, ...]:
    """Names of the MIG profiles of some GPUs, or of all: as labels and resources spell them, and
    as nvidia-smi does."""
    rows = catalogue.gpus.values() if gpus is None else [catalogue.gpu(key) for key in gpus]
    shapes = [row.mig for row in rows if row.mig is not None]
    profiles = [profile for shape in shapes for profile in shape.profiles.values()]
    names = [name for one in profiles for name in (one.name, one.label)]
    return tuple(dict.fromkeys([*names, *(name for s in shapes for name in s.alternate_names)]))


def _count(context: RuleContext, group: PodGroup, asked: Mapping[str, int]) -> _Limit | None:
    """More GPUs than a node with these labels has, or several shares on GKE."""
    count = asked.get(GPU, 0)
    each = [c.gpus(GPU).value.number for c in group.containers if c.gpus(GPU).is_known]
    strategy = group.node_labels.get(GKE_STRATEGY)
    if strategy == frozenset({"time-sharing"}) and max(each, default=0) > 1:
        return _Limit(
            "on nodes of GKE with time-sharing a container may request one share",
            f"request 1 x {GPU}: a share is not a part of the GPU's speed, so that several give "
            "nothing more",
            then="the kubelet refuses the pod with UnexpectedAdmissionError",
        )
    if any(label in group.node_labels for label in SHARING_LABELS):
        return None
    for label in COUNT_LABELS:
        values = group.node_labels.get(label, frozenset())
        if not values or not all(value.isdecimal() for value in values):
            continue
        most = max(int(value) for value in values)
        if count > most and not context.declared(SharingConfig):
            return _Limit(
                f"{label} selects nodes with {most}",
                f"request at most {most}, or select larger nodes",
                Level.ADVISORY,  # GPUs may be shared by a configuration that is elsewhere
            )
    return None


def _not_shared(
    context: RuleContext, group: PodGroup, asked: Mapping[str, int]
) -> Iterator[Finding]:
    """A product without its suffix for shared GPUs, where all declared GPUs are shared."""
    configs = context.declared(SharingConfig)
    products = group.node_labels.get(PRODUCT_LABEL, frozenset())
    shared = [
        one.rename_by_default.found is not True
        and any(r.name == GPU and (r.replicas or 0) > 1 for r in one.resources)
        for one in configs
    ]
    if GPU in asked and products and all(shared) and shared:
        plain = [value for value in sorted(products) if not value.endswith("-SHARED")]
        if len(plain) == len(products):
            yield selects_no_node.say(case="shared", group=group, plain=plain, configs=configs)


@lru_cache(maxsize=8)
def names_of_clouds(catalogue: Catalogue) -> tuple[set[str], set[str], list[str]]:
    """Google's names of accelerators, Amazon's families, and products as GPU Feature Discovery
    labels them: read once, for all pods of a run."""
    rows = catalogue.instances.values()
    google = {row.gke_accelerator_type for row in rows if row.gke_accelerator_type}
    products = (name for row in catalogue.gpus.values() for name in row.product_names or ())
    amazon = {row.family for row in rows if row.cloud == AWS}
    return google, amazon, [name.replace(" ", "-") for name in products]


def _unknown_names(catalogue: Catalogue, group: PodGroup) -> Iterator[Finding]:
    if not group.node_labels:
        return
    (google, families, products), amazon = names_of_clouds(catalogue), gpu_names()
    for label, values in group.node_labels.items():
        for value in sorted(values):
            if label == GKE_ACCELERATOR and value not in google:
                near = nearest_names(value, google)
            elif label == PRODUCT_LABEL and not values.intersection(products):
                near = tuple(one for one in products if f"-{value}-" in f"-{one}-")[:3]
                if not near:
                    continue  # a GPU that the catalogue lacks, a slice or a share
            elif label in _AWS_NAMES and value not in amazon:
                near = nearest_names(value.lower(), amazon)
            elif (
                label in INSTANCE_TYPE_LABELS
                and value.partition(".")[0] in families
                and catalogue.sold(value) is None
            ):
                near = nearest_types(value, catalogue.instances)
            else:
                continue
            yield selects_no_node.say(
                case="name",
                group=group,
                label=label,
                value=value,
                nearest=list(near),
                alternative=f"write {' or '.join(near)}" if near else "look the name up",
            )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
