"""Properties as the engine sends them, through our conversion."""

from typing import Any

from google.protobuf import json_format, struct_pb2
from pulumi_policy.proxy import UNKNOWN_OBJECT_VALUE, UNKNOWN_STRING_VALUE

from gpufleet.cluster.fact import UNKNOWN
from gpufleet_policies.readers.plain import plain

SIGNATURE = "4dabf18193072939515e22adb298388d"
ASSET = {SIGNATURE: "c44067f5952c0a294b673a41bacd8c17", "path": "values.yaml"}
ARCHIVE = {SIGNATURE: "0def7320c3a5731c473e5ecbe6d01bc7", "path": "chart.tgz"}


def secret(value: Any) -> dict[str, Any]:
    return {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "value": value}


def read(properties: dict[str, Any]) -> Any:
    sent = struct_pb2.Struct()
    sent.update(properties)
    return plain(json_format.MessageToDict(sent))


def test_secrets_are_read_and_what_is_no_data_is_unknown() -> None:
    assert read(
        {
            "password": secret("a"),
            "spec": secret({"replicas": 2, "ratio": 0.5}),
            "name": UNKNOWN_STRING_VALUE,
            "labels": {"a": [UNKNOWN_OBJECT_VALUE, None, True]},
            "values": ASSET,
            "charts": [ARCHIVE],
        }
    ) == {
        "password": "a",
        "spec": {"replicas": 2, "ratio": 0.5},
        "name": UNKNOWN,
        "labels": {"a": [UNKNOWN, None, True]},
        "values": UNKNOWN,
        "charts": [UNKNOWN],
    }


def test_deep_nesting_ends_as_unknown() -> None:
    nested: Any = "bottom"
    for _ in range(90):
        nested = [nested]
    assert "UNKNOWN" in repr(read({"nested": nested}))
