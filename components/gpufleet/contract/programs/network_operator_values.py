"""Kind `network-operator-values`: values of the Network Operator's chart, or its resources."""

from collections.abc import Mapping
from typing import Any

from gpufleet.cluster.program import Reader
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.chart_release import chart_codes
from gpufleet.contract.programs.go_json import kind_of
from gpufleet.contract.programs.network_objects import objects_of, validate_objects
from gpufleet.contract.programs.nic_policy import CODES, validate_spec
from gpufleet.contract.programs.rule_tables import rules_in
from gpufleet.contract.programs.text_notes import note_text
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas import (
    known_fields,
    own_values,
    report_problems,
    values_problems,
)
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import as_mapping
from gpufleet.rules.rows import rule_table

RULES = rule_table(
    *rules_in("network_operator", "unknown_keys", "text_notes", "rdma_shared", "sriov")
)

_FIRST_WITHOUT_SECTIONS = (24, 10)
"""First release whose chart makes no NicClusterPolicy: the customisation pages of the documentation
list `deployCR` and its sections for v24.7.0, and do not for v25.10.0."""
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
    objects = objects_of(values)
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
    """Keys of the chart, and sections of NicClusterPolicy that stand where they are not read."""
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
            f"{_READER} does not read {', '.join(moved)} since v24.10: nothing of it is deployed"
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
    """Whether a section deploys nothing, so that nothing is lost where it is not read."""
    return (as_mapping(section) or {}).get("deploy") is False


def _is_read(key: str, version: tuple[int, ...]) -> bool:
    """Whether the chart of a release read a section of a NicClusterPolicy, or `deployCR`."""
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
        written = ".".join(map(str, minor))
        report.add(
            "network-operator-kubernetes",
            context.kubernetes.place,
            f"Kubernetes {written} is older than {limit[0]}.{limit[1]}",
            None,
            value=written,
            limit=f"{limit[0]}.{limit[1]}",
        )
