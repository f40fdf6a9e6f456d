"""Types that a MachineSet embeds: fields from OpenShift's OpenAPI, enumerations from its Go source.

No API server has them: the webhook of the machine-api-operator reads them (openshift/
machine-api-operator `pkg/webhooks/machine_webhook.go`: wrong types and enumerations are refused,
unknown fields ignored with a warning). Fields that the OpenAPI requires are left out, since the
webhook fills some in; `REFUSED` has what its `validateVSphere`, `validateAWS` and `validateGCP`
refuse after that.
"""

import json
import re
from pathlib import Path

from pruning import DATA, Schema
from sharing import rebuilt

GROUP, VERSION = "machine.openshift.io", "v1beta1"
PROVIDERS = {
    "AWSMachineProviderConfig": "aws",
    "GCPMachineProviderSpec": "gcp",
    "VSphereMachineProviderSpec": "vsphere",
}
"""Kind -> the part of the name of its Go file."""
_NAMED = {"required": ["name"], "properties": {"name": {"minLength": 1}}}
_SECRETS = {"credentialsSecret": _NAMED, "userDataSecret": _NAMED}
_FILLED = {"minLength": 1}
REFUSED: dict[str, Schema] = {
    "AWSMachineProviderConfig": {
        "required": ["ami"],
        "properties": {
            "ami": {"required": ["id"]},
            "placement": {
                "properties": {"tenancy": {"enum": ["", "default", "dedicated", "host"]}}
            },
        },
    },
    "GCPMachineProviderSpec": {
        "required": ["region", "zone"],
        "properties": {
            **_SECRETS,
            "region": _FILLED,
            "disks": {
                "items": {
                    "properties": {
                        "sizeGb": {"maximum": 65536},
                        "type": {"enum": ["", "pd-standard", "pd-ssd", "pd-balanced"]},
                    },
                    "x-kubernetes-validations": [
                        {"rule": "!has(self.sizeGb) || self.sizeGb == 0 || self.sizeGb >= 16"}
                    ],
                }
            },
            "gpus": {
                "maxItems": 1,
                "items": {
                    "required": ["type"],
                    "properties": {"type": _FILLED},
                    "x-kubernetes-validations": [{"rule": "self.type != 'nvidia-tesla-a100'"}],
                },
            },
            "networkInterfaces": {
                "items": {
                    "required": ["network", "subnetwork"],
                    "properties": {"network": _FILLED, "subnetwork": _FILLED},
                }
            },
            "serviceAccounts": {
                "maxItems": 1,
                "items": {
                    "required": ["email", "scopes"],
                    "properties": {"email": _FILLED, "scopes": {"minItems": 1}},
                },
            },
        },
        "x-kubernetes-validations": [
            {"rule": "self.zone.startsWith(self.region)"},
            {
                "rule": "!has(self.gpus) || self.gpus.size() == 0 || !has(self.machineType)"
                " || !self.machineType.startsWith('a2-')"
            },
            {
                "rule": "!has(self.onHostMaintenance) || self.onHostMaintenance != 'Migrate'"
                " || ((!has(self.gpus) || self.gpus.size() == 0)"
                " && (!has(self.machineType) || !self.machineType.startsWith('a2-')))"
            },
        ],
    },
    "VSphereMachineProviderSpec": {
        "required": ["network", "template", "workspace"],
        "properties": {
            **_SECRETS,
            "template": _FILLED,
            "network": {
                "required": ["devices"],
                "properties": {
                    "devices": {
                        "minItems": 1,
                        "items": {
                            "required": ["networkName"],
                            "properties": {"networkName": _FILLED},
                        },
                    }
                },
            },
            "workspace": {
                "required": ["server"],
                "properties": {"server": _FILLED},
                "x-kubernetes-validations": [
                    {
                        "rule": "!has(self.folder) || self.folder == '' || self.folder.startsWith("
                        "'/' + (has(self.datacenter) ? self.datacenter : '') + '/vm/')"
                    }
                ],
            },
        },
    },
}
"""Kind -> what its webhook refuses, to be laid over the schema. Which types of disks it takes has
changed from release to release; these are of the newest copy that can be read."""
KEPT = (DATA - {"default"}) | {"x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"}
"""Keywords for data that no API server reads: without keys of lists."""
_ENUM = re.compile(
    r"\+kubebuilder:validation:Enum:?=(?P<values>[^\n]+)\n(?:\s*//[^\n]*\n)*?"
    r"(?:\s*\w+ [^\n]*json:\"(?P<field>\w+)[^\n]*|type (?P<type>\w+) string)"
)


def definitions(module: Path) -> list[Schema]:
    """A definition of each kind, which no server serves."""
    named = json.loads((module / "openapi/openapi.json").read_text(encoding="utf-8"))["definitions"]
    return [_definition(kind, named, module) for kind in PROVIDERS]


def _definition(kind: str, named: dict[str, Schema], module: Path) -> Schema:
    source = module / f"machine/v1beta1/types_{PROVIDERS[kind]}provider.go"
    choices = _choices(source.read_text(encoding="utf-8"))

    def fields(schema: Schema) -> Schema:
        if "$ref" in schema:
            return fields(named[schema["$ref"].rpartition("/")[2]])
        kept = {k: v for k, v in schema.items() if k in KEPT}
        kept = rebuilt({k: v for k, v in kept.items() if k != "required"}, fields)
        for name, one in kept.get("properties", {}).items():
            if name in choices and one.get("type") == "string":
                one["enum"] = ["", *choices[name]]  # empty text is an absent field
        return kept

    spec = fields(named[f"com.github.openshift.api.machine.v1beta1.{kind}"])
    spec = _laid_over(spec, REFUSED[kind])
    return {
        "spec": {
            "group": GROUP,
            "names": {"kind": kind, "plural": f"{kind.lower()}s", "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": False,
                    "storage": False,
                    "schema": {"openAPIV3Schema": spec},
                }
            ],
        }
    }


def _laid_over(schema: Schema, more: Schema) -> Schema:
    """The schema with additions to its fields."""
    made = {**schema, **more}
    if "properties" in more:
        fields = schema["properties"]
        said = {name: _laid_over(fields[name], one) for name, one in more["properties"].items()}
        made["properties"] = fields | said
    if "items" in more:
        made["items"] = _laid_over(schema["items"], more["items"])
    return made


def _choices(source: str) -> dict[str, list[str]]:
    """Field -> values, of the markers at fields and at types of fields."""
    found: dict[str, list[str]] = {}
    for match in _ENUM.finditer(source):
        values = [one.strip('" ') for one in match["values"].split(";") if one.strip('" ')]
        fields = [match["field"]]
        if match["type"]:
            fields = re.findall(rf"\w+ \*?{match['type']} `json:\"(\w+)", source)
        found |= dict.fromkeys(fields, values)
    return found
