"""Types that a MachineSet embeds: fields from OpenShift's OpenAPI, enumerations from its Go source.

No API server has them: the webhook of the machine-api-operator reads them (openshift/
machine-api-operator `pkg/webhooks/machine_webhook.go`: wrong types and enumerations are refused,
unknown fields ignored with a warning). Required fields are left out, since it fills some in.
"""

import json
import re
from pathlib import Path

from pruning import DATA, EXTENSIONS, Schema
from sharing import rebuilt

GROUP, VERSION = "machine.openshift.io", "v1beta1"
PROVIDERS = {
    "AWSMachineProviderConfig": "aws",
    "GCPMachineProviderSpec": "gcp",
    "VSphereMachineProviderSpec": "vsphere",
}
"""Kind -> the part of the name of its Go file."""
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
        kept = {k: v for k, v in schema.items() if k in DATA - {"default"} or k in EXTENSIONS}
        kept = rebuilt({k: v for k, v in kept.items() if k != "required"}, fields)
        for name, one in kept.get("properties", {}).items():
            if name in choices and one.get("type") == "string":
                one["enum"] = ["", *choices[name]]  # empty text is an absent field
        return kept

    spec = fields(named[f"com.github.openshift.api.machine.v1beta1.{kind}"])
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
