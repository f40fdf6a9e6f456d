"""Write `components/gpufleet/catalogue/providers/*.jsonl` again, from the providers' own schemas.

    python tools/provider_inputs.py gcp SCHEMA.json   # schema of the Google provider, as JSON
    python tools/provider_inputs.py aws               # service models of the installed botocore

The Google schema is the provider's own `schema.Resource`, with the values that its validators
accept. Names become those of the Pulumi SDK, by the installed `pulumi_gcp`.

"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from aws_inputs import AWS_CODE, AWS_REPLACES, AWS_SOURCES, BOTOCORE, PLAIN_INTERFACE

from gpufleet.catalogue.provider_inputs import FOLDER
from gpufleet_sandbox.cloud.aws.model import enumeration
from gpufleet_sandbox.cloud.sdk import Sdk
from gpufleet_sandbox.cloud.shapes import ListOf, MapOf, ObjectShape, Scalar, Shape

GOOGLE_TYPES = {
    "google_container_node_pool": "gcp:container/nodePool:NodePool",
    "google_container_cluster": "gcp:container/cluster:Cluster",
    "google_compute_network": "gcp:compute/network:Network",
    "google_compute_subnetwork": "gcp:compute/subnetwork:Subnetwork",
    "google_compute_resource_policy": "gcp:compute/resourcePolicy:ResourcePolicy",
}
"""Resources that gpufleet creates, and those of its clusters."""

_REGEXP = re.compile(r"doesn't match regexp \"(.+)\"$")

ROUTER_NAT = "gcp:compute/routerNat:RouterNat"
_NAT = {"source": "google-router-nat"}
FIREWALL = "gcp:compute/firewall:Firewall"
_FIREWALL = {"source": "google-firewall"}
_GCE_NAME = "^(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)$"
"""`verify.ValidateGCEName` of the provider."""
ROUTER = "gcp:compute/router:Router"
_ROUTER = {"source": "google-router"}
_RULES = ["allows", "denies"]
GOOGLE_CODE: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    (ROUTER_NAT, "natIpAllocateOption", {**_NAT, "one_of": ["MANUAL_ONLY", "AUTO_ONLY"]}),
    (
        ROUTER_NAT,
        "sourceSubnetworkIpRangesToNat",
        {
            **_NAT,
            "one_of": [
                "ALL_SUBNETWORKS_ALL_IP_RANGES",
                "ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES",
                "LIST_OF_SUBNETWORKS",
            ],
        },
    ),
    (ROUTER_NAT, "name", {**_NAT, "replaces": "value"}),
    (ROUTER_NAT, "region", {**_NAT, "replaces": "value"}),
    (ROUTER_NAT, "router", {**_NAT, "replaces": "value"}),
    (FIREWALL, "name", {**_FIREWALL, "pattern": _GCE_NAME, "replaces": "value"}),
    (FIREWALL, "project", {**_FIREWALL, "replaces": "value"}),
    (
        FIREWALL,
        "direction",
        {**_FIREWALL, "one_of": ["INGRESS", "EGRESS", ""], "replaces": "value"},
    ),
    (FIREWALL, "priority", {**_FIREWALL, "minimum": 0, "maximum": 65535}),
    (FIREWALL, "allows", {**_FIREWALL, "exactly_one_of": _RULES}),
    (FIREWALL, "denies", {**_FIREWALL, "exactly_one_of": _RULES}),
    (ROUTER, "name", {**_ROUTER, "replaces": "value"}),
    (ROUTER, "network", {**_ROUTER, "replaces": "value"}),
    (ROUTER, "region", {**_ROUTER, "replaces": "value"}),
    (ROUTER, "project", {**_ROUTER, "replaces": "value"}),
)
"""Type, path, constraint of resources that the schema file does not have."""
GOOGLE_SOURCES = (
    {
        "key": "google-router-nat",
        "location": "github.com/hashicorp/terraform-provider-google @ 054ced1, "
        "google/services/compute/resource_compute_router_nat.go",
        "date": "2026-11-23",
    },
    {
        "key": "google-firewall",
        "location": "github.com/hashicorp/terraform-provider-google @ 07fc865, "
        "google/services/compute/resource_compute_firewall.go",
        "date": "2026-11-23",
    },
    {
        "key": "google-router",
        "location": "github.com/hashicorp/terraform-provider-google @ 07fc865, "
        "google/services/compute/resource_compute_router.go",
        "date": "2026-11-23",
    },
)


RAW = {
    "aws": ("aws:eks/nodeGroup:NodeGroup", "aws:ec2/launchTemplate:LaunchTemplate"),
    "gcp": ("gcp:container/nodePool:NodePool",),
}
"""Resources whose inputs a declaration may write raw: their names and types are stored, so that
compile knows them without an SDK."""


def sdk_rows(cloud: str) -> Iterator[dict[str, Any]]:
    """Which inputs a resource has, and of which type they are, from the installed SDK."""
    sdk = Sdk(cloud)
    location = f"pulumi_{cloud} {sdk.version}"
    yield {"key": f"pulumi-{cloud}", "location": location, "date": "2026-11-28"}
    for token in RAW[cloud]:
        inputs = _names(sdk.resource(token).record)
        yield {"type": token, "source": f"pulumi-{cloud}", "inputs": inputs}


def _names(shape: Shape) -> Any:
    match shape:
        case ObjectShape():
            return {name: _names(one.shape) for name, one in sorted(shape.properties.items())}
        case ListOf():
            return [_names(shape.item)]
        case MapOf():
            return {"*": _names(shape.item)}
        case Scalar():
            return shape.kind
        case _:
            return None


def google_rows(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Source and constraints of the Google provider."""
    location, date = re.fullmatch(r"(.+) \((\d{4}-\d\d-\d\d)\).*", schema["source"]).groups()
    yield {"key": "google", "location": f"github.com/{location.replace(' ', ' @ ')}", "date": date}
    yield from GOOGLE_SOURCES
    yield from _code_rows(GOOGLE_CODE)
    sdk = Sdk("gcp")
    for name, token in GOOGLE_TYPES.items():
        record, names = sdk.resource(token).record, dict[str, str]()
        fields = schema["resources"][name]["fields"]
        rows = list(_google_fields(record, fields, (name,), "", names))
        for row in rows:
            for key in ("conflicts_with", "exactly_one_of", "at_least_one_of"):
                if key in row:
                    row[key] = sorted(names[path] for path in row[key])
            yield {"type": token, **row}


def _google_fields(
    record: ObjectShape, fields: Mapping[str, Any], at: tuple[str, ...], path: str, names: dict
) -> Iterator[dict[str, Any]]:
    for name, field in fields.items():
        if not (field.get("optional") or field.get("required")):
            continue
        own = next(one for one in _spellings(name) if one in record.properties)
        shape = record.properties[own].shape
        place, below = (*at, name), f"{path}.{own}" if path else own
        names[".0.".join(place[1:])] = below
        row = _constraint(field)
        if row:
            yield {"path": below, "source": "google", "at": ".".join(place), **row}
        if "fields" in field:
            inner = shape.item if isinstance(shape, ListOf) else shape
            yield from _google_fields(inner, field["fields"], place, below, names)


def _spellings(name: str) -> Iterator[str]:
    """The bridge writes camelCase, and lists of more than one in the plural."""
    head, *rest = name.split("_")
    plain = head + "".join(part.capitalize() for part in rest)
    yield from (plain, f"{plain}s", f"{plain}es", f"{plain.removesuffix('y')}ies")


def _constraint(field: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    names = {
        "oneOf": "one_of",
        "minimum": "minimum",
        "conflictsWith": "conflicts_with",
        "exactlyOneOf": "exactly_one_of",
        "atLeastOneOf": "at_least_one_of",
        "minItems": "least_items",
    }
    for key, ours in names.items():
        if key in field:
            row[ours] = field[key]
    if field.get("maxItems", 1) > 1:
        row["most_items"] = field["maxItems"]
    for text in field.get("refusesText", ()):
        if found := _REGEXP.search(text):
            row["pattern"] = found[1]
        elif "CIDR" in text:
            row["format"] = "cidr"
    if field.get("forceNew"):
        row["replaces"] = "block" if "fields" in field else "value"
    return row


def aws_rows() -> Iterator[dict[str, Any]]:
    """Sources and constraints of the AWS provider."""
    import botocore

    yield {"key": "botocore", "location": f"botocore {botocore.__version__}", "date": "2026-11-20"}
    yield from AWS_SOURCES
    for token, paths in BOTOCORE.items():
        for path, (service, shape) in paths.items():
            values = list(enumeration(service, shape))
            if path == "networkInterfaces.interfaceType":
                values.append(PLAIN_INTERFACE)
            row = {"path": path, "source": "botocore", "at": f"{service} {shape}"}
            yield {"type": token, **row, "one_of": values}
    fixed = [
        (token, path, {"source": "aws-schemas", "replaces": "value"})
        for token, paths in AWS_REPLACES.items()
        for path in paths
    ]
    yield from _code_rows((*AWS_CODE, *fixed))


def _code_rows(
    rows: Iterable[tuple[str, str, Mapping[str, Any]]],
) -> Iterator[dict[str, Any]]:
    for token, path, row in rows:
        at = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", path).lower()
        yield {"type": token, "path": path, "at": at, **row}


def written(rows: Iterator[dict[str, Any]]) -> str:
    """The text of a file."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def main(arguments: list[str]) -> None:
    """Write one file."""
    match arguments:
        case ["gcp", file]:
            rows = google_rows(json.loads(Path(file).read_text(encoding="utf-8")))
            text = written(chain(rows, sdk_rows("gcp")))
        case ["aws"]:
            text = written(chain(aws_rows(), sdk_rows("aws")))
        case _:
            sys.exit(__doc__)
    (FOLDER / f"{arguments[0]}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
