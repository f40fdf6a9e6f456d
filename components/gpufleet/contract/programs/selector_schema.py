"""Device selectors of the two network device plugins, as in the webhook's schemas."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.catalogue.schemas import schema_file
from gpufleet.contract.programs.go_json import kind_of, shown
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_list, as_mapping

Schema = Mapping[str, str]
"""Criterion -> `texts`, `boolean` or `text`."""

_WORDS = {"array": "texts", "boolean": "boolean", "string": "text"}


@cache
def criteria(device: str) -> Schema:
    """The criteria of a type of device: `rdma`, `accelerator`, `netDevice`, `auxNetDevice`."""
    fields = schema_file("webhook-selectors")["selectors"][device]
    return {name: _WORDS[field["type"]] for name, field in fields.items()}


def validate_selectors(
    value: Any, schema: Schema, path: str, prefix: str, report: CheckReport
) -> None:
    """One selectors object: at least one criterion, none unknown, lists of non-empty text.

    Findings: `<prefix>-selectors-empty`, `-selector-unknown`, `-selector-invalid`.
    """
    selectors = as_mapping(value)
    if selectors is None:
        code = f"{prefix}-selector-invalid"
        report.say("selectors-no-mapping", path, code=code, kind=kind_of(value))
        return
    if not set(selectors) & set(schema):
        code = f"{prefix}-selectors-empty"
        report.say("selectors-empty", path, code=code, known=tuple(schema))
    for key, criterion in selectors.items():
        place = child(path, key)
        wanted = schema.get(key)
        if wanted is None:
            code, fix = f"{prefix}-selector-unknown", nearest_fix(key, schema)
            report.say("selector-unknown", place, code=code, fix=fix, value=key)
        elif not _fits(criterion, wanted):
            words = {"texts": "a list of text", "boolean": "true or false", "text": "text"}[wanted]
            code, value = f"{prefix}-selector-invalid", shown(criterion)
            fix = 'put ids in quotes: ["15b3"]' if wanted == "texts" else f"write {words}"
            report.say(
                "selector-invalid", place, code=code, fix=fix, value=value, key=key, needed=words
            )


def _fits(value: Any, wanted: str) -> bool:
    if wanted == "texts":
        items = as_list(value)
        return items is not None and all(isinstance(item, str) and item for item in items)
    return isinstance(value, bool if wanted == "boolean" else str)
