"""Kinds that no rule reads: those that cannot concern a GPU, those with only a known definition,
and all the others.

Sources: Kubernetes API reference 1.36, groups and kinds; the API references of the named projects.
"""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpufleet.contract.schemas import has_schema

with Path(__file__).with_suffix(".csv").open(newline="", encoding="utf-8") as _file:
    _JUDGED_BY = {(row["group"], row["kind"]): row["judged_by"] for row in csv.DictReader(_file)}
"""API group and kind, or `*` for all of them -> `nothing` where it makes no pods or nodes and
configures nothing that serves GPUs; `definition` of GPU nodes and operators that no rule reads."""


def is_validated_by_definition(document: Mapping[str, Any], group: str, kind: str) -> bool:
    """Whether an object's definition is known, and no rule about its kind would add a finding."""
    by_definition = _JUDGED_BY.get((group, kind)) == "definition"
    return by_definition and has_schema(document.get("apiVersion"), kind)


def cannot_concern_gpus(group: str, kind: str) -> bool:
    """Whether objects of a kind neither make pods or nodes nor configure what serves GPUs."""
    return "nothing" in (_JUDGED_BY.get((group, "*")), _JUDGED_BY.get((group, kind)))
