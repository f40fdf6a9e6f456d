"""Kind `network-operator-values`: values of the Network Operator's chart, or its resources."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpufleet.catalogue.schemas import schema_file
from gpufleet.cluster.program import Reader
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.chart_values import chart_codes
from gpufleet.contract.programs.custom_resources import Objects, objects_of, share_nodes
from gpufleet.contract.programs.go_json import json_problem, kind_of, shown
from gpufleet.contract.programs.rule_tables import note_text, rules_in
from gpufleet.contract.programs.validation import AdvertisedByConfig, CheckReport, Judgement
from gpufleet.contract.schemas.chart_values import own_values, values_problems
from gpufleet.contract.schemas.gpu_refusals import refused_by_code
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind
from gpufleet.contract.schemas.report import SchemaCodes, object_problems, report_problems
from gpufleet.contract.schemas.validator import known_fields, part_problems
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child, mapping_at, value_at
from gpufleet.documents.shapes import as_mapping
from gpufleet.rules.rows import RuleTable, rule_table

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
        validate_objects(objects, report)
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
        _validate_policy(values, "", report)
        problems = policy_problems({"kind": "NicClusterPolicy", "spec": dict(values)})
        inside = [replace(one, steps=one.steps[1:]) for one in problems]
        report_problems(inside, CODES, report, special=special_code)
        return
    # Ignoring a section that deploys nothing loses nothing.
    off = [value_at(values, f"{key}.deploy") is False for key in sections]
    if moved and not (off and all(off)):
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

GROUP = "mellanox.com"
KINDS = ("NicClusterPolicy", "NicNodePolicy", "MacvlanNetwork", "HostDeviceNetwork", "IPoIBNetwork")
NODE_SECTIONS = ("ofedDriver", "rdmaSharedDevicePlugin", "sriovDevicePlugin")
"""Sections that may be in a NicNodePolicy instead."""
SECTIONS = (
    *NODE_SECTIONS,
    "ibKubernetes",
    "nvIpam",
    "nicFeatureDiscovery",
    "docaTelemetryService",
    "secondaryNetwork.cniPlugins",
    "secondaryNetwork.ipoib",
    "secondaryNetwork.multus",
)
"""Sections whose image and repository the webhook validates."""
_PATTERN, _REQUIRED = SchemaProblemKind.PATTERN, SchemaProblemKind.REQUIRED
CODES = SchemaCodes(
    wrong_type="nic-policy-wrong-type",
    choice="nic-policy-choice-unknown",
    bound="nic-policy-number-negative",
    required="nic-policy-field-missing",
    other="nic-policy-value-invalid",
    definition=(f"{GROUP}/v1alpha1", "NicClusterPolicy"),
)


def special_code(problem: SchemaProblem) -> str | None:
    """The code of values with a separate code."""
    if problem.kind is _REQUIRED and problem.steps[-1] == "image":
        return "nic-policy-image-missing"
    size = problem.steps[-1] == "availableStorageSize"
    return "nic-policy-storage-size" if size and problem.kind is _PATTERN else None


def policy_problems(item: dict[str, Any]) -> tuple[SchemaProblem, ...]:
    """Problems of a resource with its definition and the operator's webhook, without the missing
    parts of a patch."""
    problems = object_problems(item, GROUP)
    if not _is_patch(as_mapping(item.get("spec")) or {}):
        return problems
    if {one.kind for one in problems} <= {_REQUIRED, SchemaProblemKind.UNKNOWN}:
        said = refused_by_code({"apiVersion": f"{GROUP}/v1alpha1", **item})
        problems = tuple(dict.fromkeys((*problems, *said)))
    return tuple(one for one in problems if one.kind is not _REQUIRED)


def _is_patch(spec: Mapping[str, Any]) -> bool:
    """Whether the spec of a policy is a kustomize patch: sections have values, and none has an
    image or a repository, which a whole object requires."""
    sections = [found for name in SECTIONS if (found := as_mapping(value_at(spec, name)))]
    return bool(sections) and not any("image" in one or "repository" in one for one in sections)


def validate_objects(objects: Objects, report: CheckReport) -> None:
    """Validate custom resources."""
    for path, item in objects:
        if item.get("kind") not in KINDS:
            continue
        spec, place = as_mapping(item.get("spec")) or {}, child(path, "spec")
        _validate_policy(spec, place, report)
        name = value_at(item, "metadata.name")
        if item["kind"] == "NicClusterPolicy" and name != "nic-cluster-policy":
            report.say("nic-policy-name", child(child(path, "metadata"), "name"), value=shown(name))
        report_problems(policy_problems(item), CODES, report, path, special_code)
    _validate_together(objects, report)


def _validate_policy(spec: Mapping[str, Any], path: str, report: CheckReport) -> None:
    """What definition and webhook do not say of a policy: that it is a patch, and the JSON texts of
    two device plugins."""
    if _is_patch(spec):
        report.say("nic-policy-patch", path)
    for name, plugin in (("rdmaSharedDevicePlugin", RDMA), ("sriovDevicePlugin", SRIOV)):
        config = value_at(spec, f"{name}.config")
        if not isinstance(config, str):
            continue
        place = child(child(path, name), "config")
        try:
            plugin.validate_data(json.loads(config), place, report, IN_POLICY)
        except (ValueError, RecursionError) as problem:
            code = f"{plugin.prefix}-not-json"
            report.say("not-json", place, code=code, fix="write JSON", problem=problem)


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


# Kinds `rdma-shared-config` and `sriov-config`: the `config` of the RDMA shared device plugin and
# of the SR-IOV network device plugin.

PREFIX = "rdma"
"""Resource prefix of the RDMA shared device plugin if none is written."""
ALONE, IN_POLICY = "config", "config/in-policy"
"""Place of a configuration, as the API version of its rows in `refusals.jsonl`."""
_UNKNOWN = SchemaProblemKind.UNKNOWN


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """The kind of one plugin's config."""

    kind: str
    RULES: RuleTable
    prefix: str
    """First part of the codes of its findings."""
    reader: str

    def validate(self, read: GoDocument, context: Site) -> Judgement:
        """Validate one config of the plugin."""
        del context  # one signature for all kinds
        report = CheckReport(self.RULES)
        note_text(read, report)
        problem = None if read.text is None else json_problem(read.text)
        if problem is not None:  # YAML, for example
            code, fix = f"{self.prefix}-not-json", "write JSON, with braces and quoted keys"
            report.say("not-json", "", code=code, fix=fix, problem=problem)
        self.validate_data(read.data, "", report)
        if self is not RDMA or report.rejected:
            return report.validation()
        allocatable = {
            f"{one.get('resourcePrefix') or PREFIX}/{one['resourceName']}": int(one["rdmaHcaMax"])
            for one in read.data["configList"]
        }
        return report.validation(AdvertisedByConfig(allocatable, {}))

    def validate_data(self, data: Any, path: str, report: CheckReport, place: str = ALONE) -> None:
        """Validate the parsed config by the webhook's schema, then by what the plugin does."""
        schema = schema_file("webhook-configs")["configs"][self.kind]
        problems = part_problems(self.kind, schema, data)
        if all(one.kind is _UNKNOWN for one in problems):
            whole = {**data, "apiVersion": place, "kind": self.kind}
            problems = (*problems, *refused_by_code(whole))
        invalid = f"{self.prefix}-item-invalid"
        codes = SchemaCodes(*[invalid] * 5, reader=self.reader)

        def special(problem: SchemaProblem) -> str | None:
            return invalid if "selectors" in problem.steps[:-1] else None

        report_problems(problems, codes, report, path, special)


RDMA = PluginConfig(
    "rdma-shared-config",
    rule_table(*rules_in("rdma_shared", "unknown_keys", "text_notes")),
    "rdma",
    "the RDMA shared device plugin",
)
SRIOV = PluginConfig(
    "sriov-config",
    rule_table(*rules_in("sriov", "unknown_keys", "text_notes")),
    "sriov",
    "the SR-IOV network device plugin",
)
