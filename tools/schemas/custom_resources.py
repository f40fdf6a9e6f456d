"""One file of the catalogue from the CustomResourceDefinitions of one release."""

from pathlib import Path
from typing import Any

import kueue_configuration
import machines
import yaml
from embedded import embedded
from pruning import OPEN, Schema, pruned
from sharing import shared
from sources import Source

OWN = Path(__file__).parent / "definitions"


def definitions(source: Source, crds: Path, modules: Path, core: Schema) -> list[Schema]:
    """The definitions of a source, by name of file. `core`: Kubernetes' own kinds."""
    folder = modules / source.module if source.module else OWN if source.own else crds
    files = sorted({file for pattern in source.files for file in folder.glob(pattern)})
    if not files:
        raise SystemExit(f"{folder}: no file {', '.join(source.files)} of {source.repository}")
    texts = [file.read_text(encoding="utf-8") for file in files]
    documents = [one for text in texts for one in yaml.safe_load_all(text)]
    found = [one for one in documents if one and one["kind"] == "CustomResourceDefinition"]
    for one in found if source.own else ():
        for version in one["spec"]["versions"]:
            body = version["schema"]
            body["openAPIV3Schema"] = embedded(
                body["openAPIV3Schema"], one.get("parts", {}), core["$defs"]
            )
    return [
        *found,
        *(machines.definitions(folder) if source.machines else ()),
        *(kueue_configuration.definitions(folder) if source.configuration else ()),
    ]


def group_file(source: Source, found: list[Schema]) -> Schema:
    """One file of the catalogue: every kind of a group."""
    schemas: dict[str, Schema] = {}
    kinds: dict[str, Any] = {}
    for definition in found:
        spec = definition["spec"]
        names = spec["names"]
        kind = kinds[names["kind"]] = {
            "group": spec["group"],
            "names": {key: value for key, value in names.items() if key != "kind"},
            "scope": spec["scope"],
            "versions": {},
        }
        for version in spec["versions"]:
            schema = pruned(version["schema"]["openAPIV3Schema"])
            rules = schema.get("x-kubernetes-validations", ())
            named = any("self.status" in rule["rule"] for rule in rules)
            if "status" in schema.get("properties", {}) and not named:
                schema["properties"]["status"] = OPEN
            for key in ("apiVersion", "kind", "metadata"):
                schema.get("properties", {}).pop(key, None)  # those of every object
            schemas[f"{names['kind']}/{version['name']}"] = schema
            kind["versions"][version["name"]] = {
                key: version[key] for key in ("served", "storage") if key in version
            } | {"subresources": version.get("subresources", {})}
    whole, defs = shared(schemas)
    for name, schema in whole.items():
        kind, _, version = name.partition("/")
        kinds[kind]["versions"][version]["schema"] = schema
    return {"source": origin(source), "kinds": kinds, "$defs": defs}


def origin(source: Source) -> dict[str, str]:
    """Comment about a source in its file."""
    return {
        "repository": source.repository,
        "release": source.release,
        "commit": source.commit,
        "path": source.path,
        "date": source.date,
    }
