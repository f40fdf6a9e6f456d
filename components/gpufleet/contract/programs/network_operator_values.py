"""Kind `network-operator-values`: values of the Network Operator's chart, or its resources."""

from collections.abc import Mapping
from typing import Any

from gpufleet.cluster.program import Reader
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.chart_values import chart_codes
from gpufleet.contract.programs.custom_resources import Objects, objects_of, share_nodes
from gpufleet.contract.programs.go_json import json_problem, kind_of, shown
from gpufleet.contract.programs.network_names import is_rdma_resource
from gpufleet.contract.programs.nic_policy import (
    CODES,
    NODE_SECTIONS,
    policy_problems,
    special_code,
    validate_policy,
    validate_spec,
)
from gpufleet.contract.programs.rule_tables import note_text, rules_in
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas import (
    known_fields,
    own_values,
    report_problems,
    values_problems,
)
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child, mapping_at, value_at
from gpufleet.documents.shapes import as_mapping
from gpufleet.rules.rows import rule_table

RULES = rule_table(
    *rules_in("network_operator", "unknown_keys", "text_notes", "rdma_shared", "sriov")
)

_FIRST_WITHOUT_SECTIONS = (24, 10)
"""First release whose chart creates no NicClusterPolicy: the customisation pages of the
documentation list `deployCR` and its sections for v24.7.0, and do not for v25.10.0."""
_LAST_WITH_NIC_CONFIGURATION = (25, 7)
"""Chart.yaml of v24.10.0 to v25.7.0 has `condition: nicConfigurationOperator.enabled`."""
_READER = "the network-operator chart"
_SWITCHES = (
    "nfd.enabled",
    "nfd.deployNodeFeatureRules",
    "upgradeCRDs",
    "sriovNetworkOperator.enabled",
    "maintenanceOperator.enabled",
    "operator.admissionController.enabled",
)


def validate(read: GoDocument, context: Site) -> Judgement:
    """Validate values, a NicClusterPolicy, another resource of the operator, or a List of these."""
    report = CheckReport(RULES)
    note_text(read, report)
    operator = context.release_of("network-operator")
    version = operator.at
    values = {} if read.data is None else as_mapping(read.data)
    if values is None:
        report.say("network-operator-no-mapping", "", kind=kind_of(read.data))
        return report.validation()
    objects = objects_of(values, KINDS)
    if objects is not None:
        validate_objects(objects, version, report)
        return report.validation()
    _validate_keys(values, operator, report)
    for path in _SWITCHES:
        value = value_at(values, path)
        if isinstance(value, str):
            report.say("network-operator-switch-as-text", path, value=value, place=path)
    _validate_cluster(values, version, context, report)
    return report.validation()


def _validate_keys(values: Mapping[str, Any], operator: Reader, report: CheckReport) -> None:
    """Keys of the chart, and sections of NicClusterPolicy in places where they are not read."""
    version, version_known = operator.at, not operator.is_default
    known = known_fields("mellanox.com/v1alpha1", "NicClusterPolicy", "spec")
    own = own_values("network-operator")
    sections = [key for key in values if key in known and key not in own]
    moved = [key for key in (*sections, "deployCR") if key in values and not _is_read(key, version)]
    if sections and len(sections) == len(values):
        report.say("network-operator-bare-spec", "")
        validate_spec(values, version, report)
        return
    if moved and not (sections and all(_is_off(values[key]) for key in sections)):
        report.add(
            "network-operator-section-moved",
            moved[0],
            f"{_READER} does not read {', '.join(moved)} since v24.10: none of it is deployed"
            + ("" if version_known else "; the version of the chart is not known"),
            "put the sections under `spec:` of a NicClusterPolicy called nic-cluster-policy",
            uncertain=not version_known,
            keys=moved,
        )
    named = {*sections, "deployCR"}
    problems = [
        problem
        for problem in values_problems(operator, values)
        if problem.steps[0] not in named and problem.path not in _SWITCHES
    ]
    report_problems(problems, chart_codes(CODES, operator), report)


def _is_off(section: Any) -> bool:
    """Whether a section deploys nothing, so that ignoring it loses nothing."""
    return (as_mapping(section) or {}).get("deploy") is False


def _is_read(key: str, version: tuple[int, ...]) -> bool:
    """Whether the chart of a release reads a section of a NicClusterPolicy, or `deployCR`."""
    if version < _FIRST_WITHOUT_SECTIONS:
        return True
    return key == "nicConfigurationOperator" and version[:2] <= _LAST_WITH_NIC_CONFIGURATION


def _validate_cluster(
    values: Mapping[str, Any], version: tuple[int, ...], context: Site, report: CheckReport
) -> None:
    enabled = value_at(values, "nfd.enabled") is not False
    chart = next((one for one in context.programs if one.name == "gpu-operator"), None)
    known = chart is not None and chart.switch("nfd.enabled", True).found is True
    if known and enabled:
        report.say("network-operator-nfd-twice", "nfd.enabled")
    limit = (1, 32) if version >= (26, 7) else (1, 21)
    minor = context.minor
    if minor is not None and minor < limit:
        written, least = (".".join(map(str, one)) for one in (minor, limit))
        place = context.kubernetes.place
        report.say("network-operator-kubernetes", place, value=written, limit=least)


# Custom resources of the Network Operator, alone and against each other.

NAME = "nic-cluster-policy"
LONGEST_NODE_POLICY = 30
KINDS = ("NicClusterPolicy", "NicNodePolicy", "MacvlanNetwork", "HostDeviceNetwork", "IPoIBNetwork")


def validate_objects(objects: Objects, version: tuple[int, ...], report: CheckReport) -> None:
    """Validate custom resources for an operator of this version."""
    for path, item in objects:
        kind = _kind(item)
        if kind not in KINDS:
            continue
        spec, place = as_mapping(item.get("spec")) or {}, child(path, "spec")
        name = value_at(item, "metadata.name")
        naming = child(child(path, "metadata"), "name")
        if kind in ("NicClusterPolicy", "NicNodePolicy"):
            validate_policy(spec, place, version, report)
        if kind == "NicClusterPolicy" and name != NAME:
            report.say("nic-policy-name", naming, value=shown(name))
        if kind == "NicNodePolicy" and len(str(name or "")) > LONGEST_NODE_POLICY:
            report.say(
                "nic-node-policy-name",
                naming,
                value=name,
                limit=LONGEST_NODE_POLICY,
                characters=len(str(name)),
            )
        if kind in ("MacvlanNetwork", "IPoIBNetwork"):
            _validate_ipam(spec.get("ipam"), child(place, "ipam"), report)
        if kind == "HostDeviceNetwork":
            _validate_host_device(spec, place, report)
        report_problems(policy_problems(item), CODES, report, path, special_code)
    _validate_together(objects, report)


def _kind(item: Mapping[str, Any]) -> str:
    kind = item.get("kind")
    return kind if isinstance(kind, str) else ""


def _validate_ipam(ipam: Any, path: str, report: CheckReport) -> None:
    if not isinstance(ipam, str) or not ipam.strip():
        return
    problem = json_problem(ipam)
    if problem is not None:
        report.say("network-ipam-not-json", path, problem=problem)


def _validate_host_device(spec: Mapping[str, Any], place: str, report: CheckReport) -> None:
    name = spec.get("resourceName")
    bare = name.removeprefix("nvidia.com/") if isinstance(name, str) else None
    if bare is not None and bare != name and is_rdma_resource(bare):
        report.say(
            "host-device-network-prefix", child(place, "resourceName"), value=shown(name), bare=bare
        )
    elif bare is None or not is_rdma_resource(bare):
        report.say(
            "host-device-network-name",
            child(place, "resourceName"),
            value=shown(name),
            name=shown(name if name is not None else ""),
        )


def _validate_together(objects: Objects, report: CheckReport) -> None:
    cluster = [item for _, item in objects if item.get("kind") == "NicClusterPolicy"]
    nodes = [(path, item) for path, item in objects if item.get("kind") == "NicNodePolicy"]
    whole = as_mapping(cluster[0].get("spec")) if cluster else None
    for path, item in nodes:
        spec = as_mapping(item.get("spec")) or {}
        for section in NODE_SECTIONS:
            if spec.get(section) is not None and (whole or {}).get(section) is not None:
                report.say(
                    "nic-node-policy-section-twice",
                    child(child(path, "spec"), section),
                    section=section,
                )
    for index, (path, item) in enumerate(nodes):
        for first, other in nodes[:index]:
            if share_nodes(*(mapping_at(one, "spec.nodeSelector") for one in (item, other))):
                report.say(
                    "nic-node-policy-overlap",
                    child(child(path, "spec"), "nodeSelector"),
                    first=first,
                )
