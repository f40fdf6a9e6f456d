"""Reading properties of cloud resources: Pulumi's spelling, and Terraform's turned into it."""

import re
from typing import Any

from gpufleet.cluster.fact import UNKNOWN, Fact, absent, known, unknown
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import is_list, is_mapping, mapping
from gpufleet_policies.readers.reading import fact, text, whole

_VERBATIM = frozenset(
    {"labels", "tags", "tagsAll", "resourceLabels", "terraformLabels", "effectiveLabels"}
)
"""Maps whose keys are the author's words."""

_UNDERSCORE = re.compile(r"_([a-z0-9])")


def camel(name: str) -> str:
    """`instance_types` as `instanceTypes`."""
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name)


def camel_keys(value: Any) -> Any:
    """A Terraform value with Pulumi's key spelling, the author's own maps as they are."""
    if is_mapping(value):
        return {
            (key := camel(name)): item if key in _VERBATIM else camel_keys(item)
            for name, item in value.items()
        }
    if is_list(value):
        return [camel_keys(item) for item in value]
    return value


def block(value: Any) -> Any:
    """A nested block: Pulumi has a mapping where Terraform has a list of at most one."""
    if is_list(value):
        return value[0] if value else None
    return value


def inside(document: Any, path: str) -> Any:
    """The plain value under a dotted path, through blocks; None when absent, UNKNOWN when hidden.

    An explicit null is absent: Terraform writes every unset attribute as null.
    """
    return value_at(document, path, unreadable=UNKNOWN, opened=block)


def number(document: Any, path: str) -> Fact[int]:
    """A whole number under a path."""
    return fact(inside(document, path), whole, path)


def word(document: Any, path: str) -> Fact[str]:
    """A text under a path; empty text is absent, as Terraform writes it."""
    found = inside(document, path)
    return fact(found or None if isinstance(found, str) else found, text, path)


def texts(document: Any, path: str) -> Fact[tuple[str, ...]]:
    """A list of texts under a path; unknown when one of them is, absent when empty."""
    found = inside(document, path)
    if found is None or found == []:
        return absent(path)
    if not is_list(found) or not all(isinstance(one, str) for one in found):
        return unknown(path)
    return known(tuple(found), place=path)


def known_texts(value: Any) -> dict[str, str]:
    """Those entries of a map that are known texts."""
    return {key: item for key, item in mapping(value).items() if isinstance(item, str)}


def all_known(value: Any) -> bool:
    """Whether a map, or its absence, is fully readable."""
    if value is None:
        return True
    return is_mapping(value) and UNKNOWN not in value.values()
