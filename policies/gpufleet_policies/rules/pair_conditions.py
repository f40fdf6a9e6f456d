"""Conditions of `rules.jsonl` on the fields of objects."""

import re
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from fractions import Fraction
from operator import ge, gt, lt
from typing import Any

from gpufleet.catalogue.features import numbers
from gpufleet.cluster.pods import PodToleration
from gpufleet.documents.paths import mapping_at
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import is_mapping, items, mapping, rewritten
from gpufleet_policies.readers.scheduling import selects, toleration_list, uncovered

_PASSING = re.compile(
    r"node(?:\.cloudprovider)?\.kubernetes\.io/|karpenter\.sh/|ToBeDeleted|.*[Dd]eletion|"
    r".*[Qq]uarantin|.*[Cc]ordon"
)
"""Taints of a state that ends: not ready, cordoned, to be removed."""

_SLEEP = re.compile(r"(?:^|-\w*c |[;\n]\s*)sleep (\d+)(?!\d|\s*&(?!&))")
"""A sleep that is a command of its own: no text, no branch, and not in the background."""

HOLDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "is": lambda here, wanted: here == wanted,
    "not": lambda here, wanted: here != wanted,
    "in": lambda here, wanted: here in wanted,
    "matches": lambda here, wanted: re.search(wanted, _text(here)) is not None,
    "names": lambda here, wanted: any(mapping(one).get("name") == wanted for one in items(here)),
    "unnamed": lambda here, wanted: not HOLDS["names"](here, wanted),
    "quoted": lambda here, wanted: f'"{here}"' in wanted,
    "unquoted": lambda here, wanted: f'"{here}"' not in wanted,
    "holds": lambda here, wanted: wanted in here,
    "omits": lambda here, wanted: wanted not in here,
    "written": lambda here, wanted: repr(wanted) in repr(here),
    "unwritten": lambda here, wanted: repr(wanted) not in repr(here),
    "near": lambda here, wanted: here != wanted and _meant(str(here), str(wanted)),
    "below": lambda here, wanted: _last(str(here)) < numbers(wanted),
    "from": lambda here, wanted: numbers(str(here).rpartition("/")[2]) >= numbers(wanted),
    "tags": lambda here, release: here == "" or f"{release.strip('v')}-" in f"{here}-",
    "less": lambda here, wanted: _compare(lt, here, wanted),
    "more": lambda here, wanted: _compare(gt, here, wanted),
    "least": lambda here, wanted: _compare(ge, here, wanted),
    "sleeps": lambda here, wanted: any(
        _compare(gt, one, wanted) for one in _SLEEP.findall(" ".join(map(str, here)))
    ),
    "predicts": lambda here, wanted: f"{here}-predictor" == wanted,
    "covers": lambda here, wanted: _entries(wanted) <= _entries(here),
    "lacks": lambda here, wanted: not _entries(wanted) <= _entries(here),
    "denies": lambda here, own: any(v not in own.get(k, [v]) for k, v in mapping(here).items()),
    "chosen": lambda here, chosen: all(mapping(here).get(k) in v for k, v in chosen.items()),
    "selected": lambda here, selector: selects(mapping(selector), mapping(here)),
    "repels": lambda here, own: any(
        not _PASSING.match(one["key"]) for one in uncovered(map(mapping, items(here)), _kept(own))
    ),
    "gives": lambda here, chosen: all(_given(here, k, v) for k, v in chosen.items()),
    "offered": lambda here, pool: HOLDS["chosen"](_labels_of(pool), here),
    "tolerates": lambda here, spec: not HOLDS["repels"](mapping(spec).get("taints"), here),
    "withholds": lambda here, chosen: not HOLDS["gives"](here, chosen),
    "admits": lambda here, tolerations: not HOLDS["repels"](here, tolerations),
}
"""Conditions on an existing value; of a version without its program: `containerd://2.1.5`."""


def _last(version: str) -> tuple[int, ...]:
    """Numbers of a version; of a range, `2.8.x` or `~2.8.1`, those above its releases."""
    found = numbers(version.rpartition("/")[2])
    return (*found[:2], 1_000_000) if re.search(r"^~|\.[xX*]$", version) else found


def _kept(own: Any) -> Any:
    """Tolerations, perhaps of a chart's values or of a row; any, if one cannot be read."""
    read = toleration_list(own) if is_mapping(next(iter(own), None)) else own
    return [PodToleration("", "Exists", "", "")] if read is None else read


def _text(value: Any) -> str:
    """The value as text, with keys in order: an engine hands them on in any order."""
    if isinstance(value, str):
        return value
    return str(rewritten(value, lambda one: dict(sorted(one.items())) if is_mapping(one) else one))


def _meant(here: str, wanted: str) -> bool:
    """Whether two names are different spellings of one: the same numbers, few other letters."""
    numbered = (re.findall(r"[0-9]+", one) for one in (here, wanted))
    return len(set(map(tuple, numbered))) == 1 and SequenceMatcher(None, here, wanted).ratio() > 0.8


def _compare(how: Callable[[Fraction, Fraction], bool], here: Any, wanted: Any) -> bool:
    one, other = quantity(str(here)), quantity(str(wanted))
    return one is not None and other is not None and how(one, other)  # else not known


def _given(template: Any, label: str, values: Any) -> bool:
    """Whether nodes of a NodePool may have a label: its own, one of its requirements, or one with a
    domain, which Karpenter or a cloud writes."""
    asked = items(mapping(mapping(template).get("spec")).get("requirements"))
    own = mapping(mapping(mapping(template).get("metadata")).get("labels")).get(label)
    return "." in label or own in values or label in (mapping(one).get("key") for one in asked)


def _labels_of(pool: Any) -> dict[str, Any]:
    """Labels that the nodes of a NodePool certainly have."""
    name = {"karpenter.sh/nodepool": mapping_at(pool, "metadata").get("name")}
    return name | mapping_at(pool, "spec.template.metadata.labels")


def _entries(value: Any) -> set[Any]:
    return set(map(repr, value.items() if is_mapping(value) else value))
