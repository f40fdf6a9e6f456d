"""The configuration of Kueue's manager, from the Go types that the manager decodes it into.

No API server has it: the manager decodes the text strictly (`pkg/config/config.go`: EnableStrict)
and ends at its start with a wrong type or an unknown field. Nothing is required, as Go fills in
what is absent, and no enumerations are kept, as releases add to them.
"""

import re
from pathlib import Path

from pruning import OPEN, Schema

GROUP, KIND = "config.kueue.x-k8s.io", "Configuration"
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\t(?:\w+ )?(\S+) `json:"(\w*),?([\w,]*)"`', re.MULTILINE)
_ALIAS = re.compile(r"^type (\w+) = (\w+)", re.MULTILINE)
_NAMED = re.compile(r"^type (\w+) string", re.MULTILINE)
_TEXT, _NUMBER, _FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
_QUANTITY = {"x-kubernetes-int-or-string": True}
_PLAIN: dict[str, Schema] = {
    "string": _TEXT,
    "bool": _FLAG,
    "int": _NUMBER,
    "int32": {**_NUMBER, "format": "int32"},
    "float32": {"type": "number"},
    "float64": {"type": "number"},
    "time.Duration": _NUMBER,
    # apimachinery Duration.UnmarshalJSON takes a text alone, and reads it by time.ParseDuration.
    "metav1.Duration": {
        **_TEXT,
        "pattern": r"^[-+]?(0|([0-9]+(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h))+)$",
    },
    "metav1.LabelSelector": OPEN,
    "corev1.ResourceName": _TEXT,
    "corev1.ResourceList": {"type": "object", "additionalProperties": _QUANTITY},
    "resourcev1.QualifiedName": _TEXT,
    "resourcev1.DeviceSelector": OPEN,
    "clientcmdapi.ExecConfig": OPEN,
    "configv1alpha1.LeaderElectionConfiguration": OPEN,
}
"""Go type -> schema; those of other modules are open where they are large."""


def definitions(module: Path) -> list[Schema]:
    """The definition of the kind, which no server serves."""
    folders = sorted(one for one in (module / "apis/config").iterdir() if one.is_dir())
    versions = [
        {
            "name": folder.name,
            "served": False,
            "storage": False,
            "schema": {"openAPIV3Schema": _schema(folder)},
        }
        for folder in folders
    ]
    names = {"kind": KIND, "plural": "configurations", "singular": "configuration"}
    spec = {"group": GROUP, "names": names, "scope": "Cluster", "versions": versions}
    return [{"spec": spec}]


def _schema(folder: Path) -> Schema:
    text = "\n".join(one.read_text(encoding="utf-8") for one in sorted(folder.glob("*_types.go")))
    structs = dict(_STRUCT.findall(text))
    structs |= {name: structs[of] for name, of in _ALIAS.findall(text)}
    known = _PLAIN | dict.fromkeys(_NAMED.findall(text), _TEXT)

    def of_type(written: str) -> Schema:
        name = written.lstrip("*")
        if name.startswith("[]"):
            return {"type": "array", "items": of_type(name[2:])}
        if found := re.fullmatch(r"map\[[\w.]+\](\S+)", name):
            return {"type": "object", "additionalProperties": of_type(found[1])}
        return of_struct(name) if name in structs else known[name]

    def of_struct(name: str) -> Schema:
        fields: Schema = {}
        for kind, key, options in _FIELD.findall(structs[name]):
            if "inline" not in options:
                fields[key] = of_type(kind)
            elif kind != "metav1.TypeMeta":
                fields |= of_struct(kind)["properties"]
        return {"type": "object", "properties": fields}

    return of_struct(KIND)
