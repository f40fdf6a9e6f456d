"""Properties read off the wire are those that the SDK's conversions and ours give together."""

from typing import Any

import pytest
from google.protobuf import json_format, struct_pb2
from hypothesis import given
from hypothesis import strategies as st
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import EnforcementLevel, ResourceValidationArgs, ResourceValidationPolicy
from pulumi_policy.deserialize import deserialize_properties
from pulumi_policy.proxy import UNKNOWN_OBJECT_VALUE, UNKNOWN_STRING_VALUE, unknown_checking_proxy

from gpufleet_policies.facts.tristate import UNKNOWN
from gpufleet_policies.fronts.crossguard_server import handed_properties, servicer
from gpufleet_policies.readers.plain import plain, plain_struct

SIGNATURE = "4dabf18193072939515e22adb298388d"
ASSET = {SIGNATURE: "c44067f5952c0a294b673a41bacd8c17", "path": "values.yaml"}
ARCHIVE = {SIGNATURE: "0def7320c3a5731c473e5ecbe6d01bc7", "path": "chart.tgz"}
REFERENCE = {SIGNATURE: "5cf8f73096256a8f31e491e813e4eb8e", "urn": "urn:pulumi:s::p::t::n"}
DEPLOYMENT = "kubernetes:apps/v1:Deployment"


def secret(value: Any) -> dict[str, Any]:
    return {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "value": value}


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**53), 2**53),
    st.text(max_size=8),
    st.sampled_from([UNKNOWN_STRING_VALUE, UNKNOWN_OBJECT_VALUE]),
    st.sampled_from([ASSET, ARCHIVE]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=6), inner, max_size=4),
        inner.map(secret),
    ),
    max_leaves=20,
)


def struct(properties: dict[str, Any]) -> struct_pb2.Struct:
    made = struct_pb2.Struct()
    made.update(properties)
    return made


@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=5))
def test_it_is_what_the_sdk_reads(properties: dict[str, Any]) -> None:
    sent = struct(properties)
    through_sdk = unknown_checking_proxy(deserialize_properties(json_format.MessageToDict(sent)))
    assert plain_struct(sent.fields) == plain(through_sdk)


def test_a_reference_is_unknown_where_the_sdk_gives_up() -> None:
    sent = struct({"node": REFERENCE, "name": "a", "replicas": 2})
    assert plain_struct(sent.fields) == {"node": UNKNOWN, "name": "a", "replicas": 2}
    with pytest.raises(AssertionError, match="Unrecognized signature"):
        deserialize_properties(json_format.MessageToDict(sent))


def test_deep_nesting_ends_as_unknown() -> None:
    nested: Any = "bottom"
    for _ in range(90):
        nested = [nested]
    found = plain_struct(struct({"nested": nested}).fields)
    assert found == plain({"nested": nested})
    assert "UNKNOWN" in repr(found)


def test_the_policies_read_what_was_handed_and_nothing_is_kept() -> None:
    seen: list[Any] = []

    def validate(args: ResourceValidationArgs, report: Any) -> None:
        seen.append((dict(args.props), handed_properties(args.urn), handed_properties("another")))

    policy = ResourceValidationPolicy(
        "p", "P", validate, enforcement_level=EnforcementLevel.MANDATORY
    )
    server = servicer("p", lambda _: False)("pack", "1.0.0", [policy], EnforcementLevel.MANDATORY)
    request = analyzer_pb2.AnalyzeRequest(
        type=DEPLOYMENT, urn="urn", name="n", properties=struct({"spec": {"replicas": 2}})
    )
    server.Analyze(request, None)
    assert seen == [({}, {"spec": {"replicas": 2}}, None)]
    assert handed_properties("urn") is None


@pytest.mark.parametrize("mends", [True, False])
def test_remediation_is_asked_only_where_something_is_mended(mends: bool) -> None:
    asked: list[str] = []

    def remediate(args: ResourceValidationArgs) -> None:
        asked.append(args.props["kind"])

    policy = ResourceValidationPolicy(
        "mend",
        "Mend",
        remediate=remediate,  # type: ignore[arg-type]
        enforcement_level=EnforcementLevel.REMEDIATE,
    )
    server = servicer("mend", lambda _: mends)(
        "pack", "1.0.0", [policy], EnforcementLevel.MANDATORY
    )
    request = analyzer_pb2.AnalyzeRequest(
        type=DEPLOYMENT, urn="urn", name="n", properties=struct({"kind": "Deployment"})
    )
    assert not server.Remediate(request, None).remediations
    assert asked == (["Deployment"] if mends else [])
