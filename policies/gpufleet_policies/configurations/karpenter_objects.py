"""Kind `karpenter`: NodePool, EC2NodeClass and NodeOverlay.

All documents of the text count, as for `kubectl apply`.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
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
from gpufleet.contract.programs.go_json import integer, shown
from gpufleet.contract.programs.karpenter_keys import CODES, FORMER, VERSIONS
from gpufleet.contract.programs.karpenter_machines import demands_gpus, read_requirements, selected
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas.problems import SchemaProblem
from gpufleet.contract.schemas.report import SCHEMA_RULES, object_problems, report_problems
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child, items_at, mapping_at, value_at
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet.rules.rows import rule_table, written_rules
from gpufleet_policies.configurations.karpenter_pool import validate_pool
from gpufleet_policies.configurations.karpenter_requirements import validate_requirements
from gpufleet_policies.configurations.kubernetes_objects import Object, objects

RULES = rule_table(
    *written_rules(Path(__file__).with_name("karpenter_rules.jsonl")),
    *SCHEMA_RULES,
)


__all__ = ["RULES", "validate"]


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate every object of the text, alone and against the others. One of a version that is not
    served has that finding alone: the rest of it is read once it is."""
    report = CheckReport(RULES, texts=Path(__file__).parent)
    served: dict[str, list[Object]] = {kind: [] for kind in VERSIONS}
    for path, item in objects(read):
        former, kind = _former(item), str(item.get("kind"))
        if former is not None:
            what, fix = former
            place = child(path, "apiVersion")
            value = shown(what)
            report.say("karpenter-version-not-served", place, value=value, what=what, fix=fix)
        elif kind in served:
            served[kind].append((path, item))
    if not any(served.values()) and not report.findings:
        report.say("karpenter-nothing-to-judge", "")
    pools, overlays = served["NodePool"], served["NodeOverlay"]
    classes = {_name(item): (path, item) for path, item in served["EC2NodeClass"]}
    for path, item in pools:
        _, its_class = classes.get(_class_name(item), ("", None))
        validate_pool(path, item, its_class, [overlay for _, overlay in overlays], report)
        _validate_shape(path, item, report)
    for path, item in classes.values():
        own = [pool for _, pool in pools if _class_name(pool) == _name(item)]
        validate_class(path, item, own, context, report)
        _validate_shape(path, item, report)
    for path, item in overlays:
        validate_overlay(path, item, context, report)
        _validate_shape(path, item, report)
    return report.validation()


def _former(item: Mapping[str, Any]) -> tuple[str, str] | None:
    """What Karpenter 1 does not serve, and the fix; None for all other objects."""
    kind, version = str(item.get("kind")), str(item.get("apiVersion"))
    if kind in FORMER and version.startswith(("karpenter.sh/", "karpenter.k8s.aws/")):
        return kind, f"write a {FORMER[kind]}"
    if kind not in VERSIONS or version == VERSIONS[kind]:
        return None
    fix = f"write apiVersion: {VERSIONS[kind]}"
    if "expireAfter" in mapping_at(item, "spec.disruption"):
        fix += ", and move expireAfter from spec.disruption to spec.template.spec"
    return f"{kind} {version}", fix


def _validate_shape(path: str, item: Mapping[str, Any], report: CheckReport) -> None:
    group = VERSIONS[str(item["kind"])].partition("/")[0]
    report_problems(object_problems(item, group), CODES, report, path, _special_code)


def _special_code(problem: SchemaProblem) -> str | None:
    """Finding code of operators, which have a separate one."""
    operator = problem.steps[-1] == "operator" and "requirements" in problem.steps
    return "karpenter-requirement-invalid" if operator else None


def _name(item: Mapping[str, Any]) -> str:
    return str(value_at(item, "metadata.name"))


def _class_name(pool: Mapping[str, Any]) -> str:
    return str(value_at(pool, "spec.template.spec.nodeClassRef.name"))


DEFAULT_DISK = 20
"""GiB of the root disk where nothing is written."""


def validate_class(
    path: str,
    item: Mapping[str, Any],
    pools: Sequence[Mapping[str, Any]],
    context: Site,
    report: CheckReport,
) -> None:
    """Everything about one node class. `pools` are the NodePools of the text that name it."""
    spec, place = as_mapping(item.get("spec")) or {}, child(path, "spec")
    report.apply("karpenter class", place, spec=spec)
    terms = [as_mapping(one) or {} for one in as_list(spec.get("amiSelectorTerms")) or []]
    where = child(place, "amiSelectorTerms")
    machines = [row for pool in pools for row in _machines(pool)]
    of_gpus = bool(machines) or not pools
    _validate_images(spec, terms, where, context, report, of_gpus=of_gpus)
    _validate_drivers(terms, machines, where, report)
    _validate_architecture(terms, machines, where, report)
    aliases = [str(term.get("alias", "")).partition("@")[0] for term in terms]
    report.apply(
        "karpenter nodes",
        place,
        spec=spec,
        machines=machines,
        family=str(spec.get("amiFamily") or next(iter(aliases), "")).lower(),
        bare=_without_driver(terms),
        disk=_largest_disk(spec),
        pods=integer(value_at(spec, "kubelet.maxPods")),
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


def _without_driver(terms: Sequence[Mapping[str, Any]]) -> str | None:
    """The first image, where every term names one without a driver."""
    texts = [f"{term.get('name', '')}{term.get('ssmParameter', '')}" for term in terms]
    return texts[0] if texts and all(map(lacks_driver, texts)) else None


def _largest_disk(spec: Mapping[str, Any]) -> int | None:
    """GiB; None where one is of a snapshot, or not to be read."""
    sizes: list[int] = []
    for _, entry in items_at(spec, "blockDeviceMappings"):
        size = quantity(str(mapping_at(entry, "ebs").get("volumeSize", "")))
        if size is None:
            return None
        sizes.append(int(size) >> 30)
    return max(sizes, default=DEFAULT_DISK)


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
