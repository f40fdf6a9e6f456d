"""Kinds `rdma-shared-config` and `sriov-config`: the `config` of the RDMA shared device plugin and
of the SR-IOV network device plugin."""

from dataclasses import dataclass
from typing import Any

from gpufleet.catalogue.schemas import schema_file
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.go_json import json_problem
from gpufleet.contract.programs.rule_tables import note_text, rules_in
from gpufleet.contract.programs.validation import AdvertisedByConfig, CheckReport, Judgement
from gpufleet.contract.schemas import (
    SchemaCodes,
    SchemaProblem,
    SchemaProblemKind,
    report_problems,
)
from gpufleet.contract.schemas.gpu_refusals import refused_by_code
from gpufleet.contract.schemas.validator import part_problems
from gpufleet.documents.document import GoDocument
from gpufleet.rules.rows import RuleTable, rule_table

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
