"""An EC2NodeClass against the pools that name it, and a NodeOverlay."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpufleet.catalogue import InstanceType, load
from gpufleet.cluster.site import Site
from gpufleet.contract.machine_images import (
    image_driver_problem,
    image_mismatch,
    lacks_driver,
    last_kubernetes,
    named_architectures,
)
from gpufleet.contract.programs.karpenter_machines import demands_gpus, read_requirements, selected
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child, items_at, mapping_at, value_at
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet_policies.configurations.karpenter_requirements import validate_requirements

PODS_OF_NODE = 2
"""Pods that every node of EKS has: of the network and of kube-proxy."""
SMALLEST_DISK = 100 << 30
DEFAULT_DISK = 20 << 30
"""Root disk where nothing is written."""


def validate_class(
    path: str,
    item: Mapping[str, Any],
    pools: Sequence[Mapping[str, Any]],
    context: Site,
    report: CheckReport,
) -> None:
    """Everything about one node class. `pools` are the NodePools of the text that name it."""
    spec, place = as_mapping(item.get("spec")) or {}, child(path, "spec")
    if ("role" in spec) == ("instanceProfile" in spec):
        found = "both" if "role" in spec else "neither"
        report.say("karpenter-class-exclusive/role", place, found=found)
    terms = [as_mapping(one) or {} for one in as_list(spec.get("amiSelectorTerms")) or []]
    where = child(place, "amiSelectorTerms")
    machines = [row for pool in pools for row in _machines(pool)]
    of_gpus = bool(machines) or not pools
    _validate_images(spec, terms, where, context, report, of_gpus=of_gpus)
    _validate_drivers(terms, machines, where, report)
    _validate_architecture(terms, machines, where, report)
    _validate_user_data(spec, terms, child(place, "userData"), report)
    if machines and "nvidia" not in str(spec.get("userData", "")).lower():
        _validate_parts(terms, where, report)
    if machines:
        _validate_disk(spec, place, report)
        most = value_at(spec, "kubelet.maxPods")
        if isinstance(most, int) and most <= PODS_OF_NODE:
            report.say(
                "karpenter-max-pods-too-few",
                child(child(place, "kubelet"), "maxPods"),
                found=most,
                limit=PODS_OF_NODE + 1,
                pods_of_node=PODS_OF_NODE,
            )


def _machines(pool: Mapping[str, Any]) -> Iterable[InstanceType]:
    requirements = read_requirements(value_at(pool, "spec.template.spec.requirements"))
    return selected(requirements) if demands_gpus(requirements) else ()


def _validate_images(
    spec: Mapping[str, Any],
    terms: Sequence[Mapping[str, Any]],
    where: str,
    context: Site,
    report: CheckReport,
    *,
    of_gpus: bool,
) -> None:
    for index, term in enumerate(terms):
        alias = term.get("alias")
        if not isinstance(alias, str):
            continue
        place = child(child(where, index), "alias")
        family, _, release = alias.partition("@")
        if len(terms) > 1 or len(term) > 1:
            report.say("karpenter-class-exclusive", place)
        if not _ended(place, alias, context, report) and release == "latest" and of_gpus:
            report.say("karpenter-latest", place, value=alias, family=family)
    of_eks = not terms or any(_is_of_eks(term) for term in terms)
    if of_eks:
        _ended(where, str(spec.get("amiFamily")), context, report)


def _is_of_eks(term: Mapping[str, Any]) -> bool:
    """Whether an image is one of EKS' own. Karpenter starts all others with the user data of their
    family, whatever their age: aws/karpenter-provider-aws v1.15.1, examples/v1/al2-custom-ami.yaml.
    """
    name, parameter = str(term.get("name", "")), str(term.get("ssmParameter", ""))
    return name.startswith("amazon-eks-") or parameter.startswith("/aws/service/eks/")


def _validate_drivers(
    terms: Sequence[Mapping[str, Any]],
    machines: Sequence[InstanceType],
    where: str,
    report: CheckReport,
) -> None:
    """Machines whose GPU needs a newer driver than the image of an alias has."""
    catalogue = load()
    for index, term in enumerate(terms):
        family, _, release = str(term.get("alias", "")).partition("@")
        image = catalogue.images.get(f"{family}-nvidia")
        if image is None:
            continue
        for key in dict.fromkeys(row.accelerator.gpu for row in machines):
            problem = image_driver_problem(image, catalogue.gpu(key), catalogue, release)
            if problem is None:
                continue
            names = sorted({row.name for row in machines if row.accelerator.gpu == key})
            report.say(
                "karpenter-driver-not-for-gpu",
                child(child(where, index), "alias"),
                found=problem.found,
                limit=problem.limit,
                machines=names,
                reason=problem.message,
                names=", ".join(names[:3]),
                fix=f"{problem.fix}, in an image that has it, or exclude these machines",
            )


def _ended(place: str, image: str, context: Site, report: CheckReport) -> bool:
    last = last_kubernetes(image, load())
    if last is None or (context.minor and context.minor <= tuple(map(int, last.split(".")))):
        return False
    version = f" on Kubernetes {'.'.join(map(str, context.minor))}" if context.minor else ""
    report.say("karpenter-al2-ended", place, limit=last, image=image, version=version)
    return True


def _validate_architecture(
    terms: Sequence[Mapping[str, Any]],
    machines: Sequence[InstanceType],
    where: str,
    report: CheckReport,
) -> None:
    """Images found by name or parameter show their purpose; images found by id do not."""
    own = {row.name: row.architecture for row in machines}
    for index, term in enumerate(terms):
        text = f"{term.get('name', '')} {term.get('ssmParameter', '')}".strip()
        other = image_mismatch(text, named_architectures(text), own)
        if other is not None and len(other.machines) == len(own):
            place, needed = child(where, index), list(other.needed)
            report.say("karpenter-image-architecture", place, found=other.found, needed=needed)


def _validate_parts(terms: Sequence[Mapping[str, Any]], where: str, report: CheckReport) -> None:
    """Images without a driver, where every term is one. User data may install it: then silent."""
    texts = [f"{term.get('name', '')}{term.get('ssmParameter', '')}" for term in terms]
    if texts and all(map(lacks_driver, texts)):
        report.say("karpenter-image-without-driver", where, value=texts[0])


def _validate_user_data(
    spec: Mapping[str, Any], terms: Sequence[Mapping[str, Any]], place: str, report: CheckReport
) -> None:
    """User data that the image's family does not read."""
    text = spec.get("userData")
    aliases = [str(term.get("alias", "")).partition("@")[0] for term in terms]
    family = str(spec.get("amiFamily") or next(iter(aliases), "")).lower()
    if not isinstance(text, str):
        return
    if family == "al2023" and "/etc/eks/bootstrap.sh" in text:
        report.say("karpenter-user-data-of-other-family", place)
    shell = text.lstrip().startswith(("#!", "MIME-Version"))
    if family == "bottlerocket" and shell:
        report.say("karpenter-user-data-of-other-family/bottlerocket", place)


def _validate_disk(spec: Mapping[str, Any], place: str, report: CheckReport) -> None:
    if spec.get("instanceStorePolicy") == "RAID0":
        return
    sizes: list[int] = []
    for _, entry in items_at(spec, "blockDeviceMappings"):
        size = quantity(str(mapping_at(entry, "ebs").get("volumeSize", "")))
        if size is None:
            return  # of a snapshot, or not to be read
        sizes.append(int(size))
    largest = max(sizes, default=DEFAULT_DISK)
    if largest < SMALLEST_DISK:
        report.say(
            "karpenter-small-disk",
            child(place, "blockDeviceMappings"),
            found=largest >> 30,
            limit=SMALLEST_DISK >> 30,
        )


def validate_overlay(
    path: str, item: Mapping[str, Any], context: Site, report: CheckReport
) -> None:
    """One NodeOverlay."""
    spec, place = as_mapping(item.get("spec")) or {}, child(path, "spec")
    # An overlay may be for the nodes of one pool (aws-samples/karpenter-blueprints node-overlay).
    own = ("karpenter.sh/nodepool",)
    validate_requirements(spec.get("requirements"), child(place, "requirements"), report, own)
    if not context.feature_gates.get("NodeOverlay", False):
        report.say("karpenter-overlay-gate-off", path)
