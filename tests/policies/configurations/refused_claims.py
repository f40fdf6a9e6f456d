"""Claims and classes that the API server refuses: cases of Kubernetes' own tests of validation."""

from typing import Any

from tests.policies.configurations.claims_by_hand import (
    ACCEPTED,
    BAD,
    CLAIM,
    CLASS,
    FOO,
    WAYS,
    Written,
    cel,
    claim,
    device_class,
    either,
    exactly,
)


def of_config(opaque: Any) -> Any:
    return claim(exactly(), config=[opaque])


def tolerating(**toleration: Any) -> Any:
    return claim(exactly(tolerations=[toleration]))


LIST = "spec.devices"
ONE = f"{LIST}.requests[0].exactly"
REFUSED = (
    Written("bad-classname", claim(exactly(deviceClassName=BAD)), CLAIM, f"{ONE}.deviceClassName"),
    Written(
        "missing-classname",
        claim({"name": "gpu", "exactly": {"deviceClassName": ""}}),
        CLAIM,
        f"{ONE}.deviceClassName",
    ),
    Written(
        "invalid-spec: constraint of no request",
        claim(exactly(), constraints=[{"requests": ["other"], "matchAttribute": "a.com/b"}]),
        CLAIM,
        f"{LIST}.constraints[0].requests[0]",
    ),
    Written(
        "invalid-spec: attribute without a domain",
        claim(exactly(), constraints=[{"matchAttribute": "missing-domain"}]),
        CLAIM,
        f"{LIST}.constraints[0].matchAttribute",
    ),
    Written(
        "invalid-spec: constraint of nothing",
        claim(exactly(), constraints=[{"requests": ["gpu"]}]),
        CLAIM,
        f"{LIST}.constraints[0]",
    ),
    Written(
        "invalid-spec: config of no request",
        of_config({"requests": ["other"], "opaque": FOO}),
        CLAIM,
        f"{LIST}.config[0].requests[0]",
    ),
    Written("allocation-mode: count", claim(exactly(count=-1)), CLAIM, f"{ONE}.count"),
    Written(
        "allocation-mode: mode",
        claim(exactly(allocationMode="other")),
        CLAIM,
        f"{ONE}.allocationMode",
    ),
    Written(
        "allocation-mode: all of two",
        claim(exactly(allocationMode="All", count=2)),
        CLAIM,
        f"{ONE}.count",
    ),
    Written(
        "allocation-mode: name",
        claim(exactly("foo"), exactly("foo")),
        CLAIM,
        f"{LIST}.requests[1]",
    ),
    Written(
        "configuration: no parameters",
        of_config({"opaque": {"driver": "dra.example.com"}}),
        CLAIM,
        f"{LIST}.config[0].opaque.parameters",
    ),
    Written(
        "configuration: text",
        of_config({"opaque": {"driver": "dra.example.com", "parameters": "hello-world"}}),
        CLAIM,
        f"{LIST}.config[0].opaque.parameters",
    ),
    Written(
        "configuration: too long",
        of_config(
            {"opaque": {"driver": "dra.example.com", "parameters": {"str": "x" * 10 * 1024}}}
        ),
        CLAIM,
        f"{LIST}.config[0].opaque.parameters",
    ),
    Written(
        "CEL-compile-errors",
        claim(exactly(selectors=cel("device.attributes[true].someBoolean"))),
        CLAIM,
        f"{ONE}.selectors[0].cel.expression",
    ),
    Written(
        "CEL-length",
        claim(exactly(selectors=cel(f'device.driver == "{"x" * 10 * 1024}"'))),
        CLAIM,
        f"{ONE}.selectors[0].cel.expression",
    ),
    Written(
        "prioritized-list-both-first-available-and-exactly-set",
        claim({**either(*WAYS), **exactly()}),
        CLAIM,
        f"{LIST}.requests[0]",
    ),
    Written(
        "prioritized-list-invalid-nested-request",
        claim(either({"name": BAD})),
        CLAIM,
        f"{LIST}.requests[0].firstAvailable[0].name",
    ),
    Written(
        "prioritized-list-nested-requests-same-name",
        claim(either({"name": "foo"}, {"name": "foo"})),
        CLAIM,
        f"{LIST}.requests[0].firstAvailable[1]",
    ),
    Written(
        "prioritized-list-too-many-subrequests",
        claim(either(*({"name": f"subreq-{number}"} for number in range(9)))),
        CLAIM,
        f"{LIST}.requests[0].firstAvailable",
    ),
    Written(
        "prioritized-list-config-requests-with-invalid-subrequest-reference",
        claim(either(*WAYS), config=[{"requests": ["gpu/other"], "opaque": FOO}]),
        CLAIM,
        f"{LIST}.config[0].requests[0]",
    ),
    Written(
        "prioritized-list-constraints-requests-with-invalid-subrequest-reference",
        claim(
            either(*WAYS),
            constraints=[{"requests": ["gpu/other"], "matchAttribute": "gpu.nvidia.com/uuid"}],
        ),
        CLAIM,
        f"{LIST}.constraints[0].requests[0]",
    ),
    Written(
        "tolerations: operator",
        tolerating(key="example.com/taint", operator="some-other-op"),
        CLAIM,
        f"{ONE}.tolerations[0].operator",
    ),
    Written(
        "tolerations: effect",
        tolerating(key="example.com/taint", operator="Exists", effect="some-other-effect"),
        CLAIM,
        f"{ONE}.tolerations[0].effect",
    ),
    Written(
        "tolerations: key and value",
        tolerating(key=BAD, operator="Equal", value=BAD),
        CLAIM,
        f"{ONE}.tolerations[0].key",
    ),
    Written(
        "bad-extended-resource-name",
        device_class(extendedResourceName="example.com"),
        CLASS,
        "spec.extendedResourceName",
    ),
    Written("selectors: no CEL", device_class(selectors=[{}]), CLASS, "spec.selectors[0].cel"),
    Written(
        "selectors: variable",
        device_class(selectors=cel("noSuchVar")),
        CLASS,
        "spec.selectors[0].cel.expression",
    ),
    Written(
        "too-many-selectors", device_class(selectors=cel(*["true"] * 33)), CLASS, "spec.selectors"
    ),
    Written("too-many-configs", device_class(config=[{"opaque": FOO}] * 33), CLASS, "spec.config"),
    Written(
        "configuration: no driver",
        device_class(config=[{"opaque": {"parameters": {"foo": 42}}}]),
        CLASS,
        "spec.config[0].opaque.driver",
    ),
)
BY_HAND = (*ACCEPTED, *REFUSED)
