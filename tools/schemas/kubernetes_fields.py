"""Fields and values of Kubernetes' own kinds that came with a later minor version than the oldest
one read, from the Go types of the modules k8s.io/api."""

import re
from pathlib import Path

from pruning import Schema
from sources import READ

RELEASES = {
    "1.31": "v0.31.14",
    "1.32": "v0.32.3",
    "1.33": "v0.33.3",
    "1.34": "v0.34.3",
    "1.35": "v0.35.1",
    "1.36": "v0.36.3",
}
"""Minor version -> the module's. Patch releases add no fields."""
GROUPS = (
    *("core/v1", "apps/v1", "batch/v1", "autoscaling/v2", "policy/v1", "networking/v1"),
    *("node/v1", "storage/v1", "admissionregistration/v1"),
    *("resource/v1", "resource/v1beta1", "resource/v1beta2"),
)
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.S | re.M)
_FIELD = re.compile(r'^\s*(?:(\w+)\s+)?([\w.*\[\]]+)\s+`.*?json:"([^",]*)', re.M)
_CONSTANT = re.compile(r'^\s+\w+\s+(\w+)\s*=\s*"([^"]*)"', re.M)

Fields = dict[str, dict[str, str]]
"""Type -> field -> Go type."""


def fields_file(modules: Path, core: Schema) -> Schema:
    """First minor version of fields, and of values of fields, by type of the file `kubernetes`."""
    fields: dict[str, dict[str, str]] = {}
    values: dict[str, dict[str, dict[str, str]]] = {}
    for group in GROUPS:
        older: Fields | None = None
        known: dict[str, set[str]] = {}
        for minor, release in RELEASES.items():
            source = modules / f"k8s.io/api@{release}" / group / "types.go"
            if not source.exists():
                continue
            types, constants = _read(source.read_text(encoding="utf-8"))
            for name, own in types.items():
                key = f"{group.replace('/', '.')}.{name}"
                if older is None or name not in older or key not in core["$defs"]:
                    continue
                for field, kind in own.items():
                    if field not in older[name]:
                        fields.setdefault(key, {})[field] = minor
                    for value in sorted(constants.get(kind, set()) - known.get(kind, set())):
                        if kind in known:
                            values.setdefault(key, {}).setdefault(field, {})[value] = minor
            older, known = types, constants
    source = {
        "repository": "kubernetes/api",
        "release": f"{min(RELEASES.values())} to {max(RELEASES.values())}",
        "commit": "",
        "path": "types.go of each group",
        "date": READ,
    }
    return {"source": source, "oldest": min(RELEASES), "fields": fields, "values": values}


def _read(text: str) -> tuple[Fields, dict[str, set[str]]]:
    """Fields of types, those of embedded types too, and values of types that are texts."""
    own: Fields = {}
    embedded: dict[str, list[str]] = {}
    for name, body in _STRUCT.findall(text):
        plain = re.sub(r"^\s*//.*$", "", body, flags=re.M)
        own[name], embedded[name] = {}, []
        for word, kind, field in _FIELD.findall(plain):
            if field:
                own[name][field] = kind.lstrip("*[]")
            elif not word:
                embedded[name].append(kind.lstrip("*"))
    constants: dict[str, set[str]] = {}
    for kind, value in _CONSTANT.findall(text):
        if kind != "string":  # constants that have nothing to do with a field
            constants.setdefault(kind, set()).add(value)

    def whole(name: str) -> dict[str, str]:
        inner = (whole(one) for one in embedded.get(name, ()) if one in own)
        return {**{k: v for one in inner for k, v in one.items()}, **own[name]}

    return {name: whole(name) for name in own}, constants
