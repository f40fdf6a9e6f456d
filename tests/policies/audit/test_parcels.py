"""What one process of an audit tells another arrives as it was."""

import pickle

from gpufleet.catalogue import load
from gpufleet_policies.adapters.documents import facts_of_document
from gpufleet_policies.fronts.audit.parcels import packed, unpacked
from tests.policies.cases import CASES


def test_facts_of_every_case_arrive_as_they_were():
    facts = [case.bad.facts() for case in CASES]
    assert unpacked(packed(facts)) == facts
    assert [repr(one) for one in unpacked(packed(facts))] == [repr(one) for one in facts]


def test_what_occurs_twice_stays_one_object():
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    (namespace,) = facts_of_document(document, "a.yaml", catalogue=load)
    first, second = unpacked(packed([namespace, namespace]))
    assert first is second
    assert packed([namespace]) != pickle.dumps([namespace]), "the quick way was taken"
