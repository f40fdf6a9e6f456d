"""What one process of an audit tells another arrives as it was."""

import pickle
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from gpufleet.catalogue import load
from gpufleet_policies.fronts.audit.parcels import packed, unpacked
from gpufleet_policies.readers.documents import facts_of_document
from tests.policies.cases import CASES


def test_facts_of_every_case_arrive_as_they_were():
    facts = [case.bad.facts() for case in CASES]
    assert unpacked(packed(facts)) == facts
    assert whole(unpacked(packed(facts))) == whole(facts)


def whole(value: Any) -> Any:
    """All that a value holds, fields that comparison leaves out too. No text of it would do: sets
    have no order, and two that are equal need not say the same."""
    if is_dataclass(value):
        return (type(value), [whole(getattr(value, one.name)) for one in fields(value)])
    if isinstance(value, Mapping):
        return [(key, whole(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [whole(item) for item in value]
    return value


def test_equal_sets_are_the_same_facts_in_whatever_order_they_are():
    first, second = frozenset((7, 15)), frozenset((15, 7))
    assert repr(first) != repr(second)
    assert whole([first]) == whole([second])


def test_what_occurs_twice_stays_one_object():
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    (namespace,) = facts_of_document(document, "a.yaml", catalogue=load)
    first, second = unpacked(packed([namespace, namespace]))
    assert first is second
    assert packed([namespace]) != pickle.dumps([namespace]), "the quick way was taken"
