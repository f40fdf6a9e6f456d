"""Write the schemas of the catalogue from the vendors' definitions, without their prose.

    python tools/schemas/generate.py --crds DIR --charts DIR --openapi DIR [--modules DIR]

`--crds` is a folder of CustomResourceDefinition files of the releases in SOURCES, `--charts` one of
values files of the charts in CHARTS. `--openapi` is a
folder with the documents that a kube-apiserver of release KUBERNETES serves below `/openapi/v3`,
started with `--runtime-config=api/beta=true`; `apis/apps/v1` is `apis__apps__v1_openapi.json` there.
(The files in Kubernetes' repository lack the enumerations.) `--modules` is Go's module cache
(default: `go env GOMODCACHE`), where the definitions of modules lie. Reads files only.
"""

import argparse
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
OUT = ROOT / "components/gpufleet/catalogue/data/2026.11/schemas"
KUBERNETES = "v1.36.3"
READ = "2026-11-21"
"""Day on which the files of the folder were taken from the repositories."""

Schema = dict[str, Any]

DATA = frozenset(
    "type properties items additionalProperties required enum default format pattern minimum "
    "maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems minProperties "
    "maxProperties multipleOf uniqueItems nullable oneOf anyOf allOf not".split()
)
"""Keywords that decide; all others are prose or belong to code generators."""
EXTENSIONS = frozenset(
    f"x-kubernetes-{name}"
    for name in (
        "int-or-string",
        "preserve-unknown-fields",
        "embedded-resource",
        "list-type",
        "list-map-keys",
        "map-type",
    )
)


@dataclass(frozen=True)
class Source:
    """Where the definitions of one file of the catalogue come from."""

    repository: str
    release: str
    path: str
    files: tuple[str, ...]
    """Patterns below the folder of definitions, or below `module` of the module cache."""
    module: str = ""
    commit: str = ""
    date: str = READ


SOURCES: dict[str, Source] = {
    "nvidia.com": Source(
        "NVIDIA/gpu-operator",
        "v26.7.0",
        "deployments/gpu-operator/crds",
        ("nvidia.com_*.yaml",),
        commit="10ee5b3638b89e11e949412aafa5ba99279c3721",
    ),
    "resource.nvidia.com": Source(
        "kubernetes-sigs/dra-driver-nvidia-gpu",
        "v0.4.1",
        "deployments/helm/dra-driver-nvidia-gpu/crds",
        (
            "resource.nvidia.com_computedomains.yaml",
            "resource.nvidia.com_computedomaincliques.yaml",
        ),
        commit="764900e7833798a1528bd52a2af3e1b2d5f7a616",
    ),
    "mellanox.com": Source(
        "Mellanox/network-operator",
        "v26.4.1",
        "deployment/network-operator/crds",
        ("mellanox.com_*.yaml",),
        commit="85afd6d9c6978eb871a3292b9897f49746cc43cd",
    ),
    "k8s.cni.cncf.io": Source(
        "Mellanox/network-operator",
        "v26.4.1",
        "deployment/network-operator/crds",
        ("k8s.cni.cncf.io_*.yaml",),
        commit="85afd6d9c6978eb871a3292b9897f49746cc43cd",
    ),
    "maintenance.nvidia.com": Source(
        "Mellanox/network-operator",
        "v26.4.1",
        "deployment/network-operator/charts/maintenance-operator-chart/crds",
        ("maintenance.nvidia.com_*.yaml",),
        commit="85afd6d9c6978eb871a3292b9897f49746cc43cd",
    ),
    "sriovnetwork.openshift.io": Source(
        "Mellanox/network-operator",
        "v26.4.1",
        "deployment/network-operator/charts/sriov-network-operator/crds",
        ("sriovnetwork.openshift.io_*.yaml",),
        commit="85afd6d9c6978eb871a3292b9897f49746cc43cd",
    ),
    "karpenter.sh": Source(
        "aws/karpenter-provider-aws",
        "v1.14.1",
        "pkg/apis/crds",
        ("karpenter.sh_*.yaml",),
        commit="bde00654cd316fddb3dccfba3f5ac07039865429",
        date="2026-08-20",
    ),
    "karpenter.k8s.aws": Source(
        "aws/karpenter-provider-aws",
        "v1.14.1",
        "pkg/apis/crds",
        ("karpenter.k8s.aws_*.yaml",),
        commit="bde00654cd316fddb3dccfba3f5ac07039865429",
        date="2026-08-20",
    ),
    "kueue.x-k8s.io": Source(
        "kubernetes-sigs/kueue",
        "v0.19.2",
        "config/components/crd/bases",
        ("config/components/crd/bases/*.yaml",),
        module="sigs.k8s.io/kueue@v0.19.2",
    ),
    "keda.sh": Source("kedacore/keda", "v2.20.2", "config/crd/bases", ("keda.sh_*.yaml",)),
    "monitoring.coreos.com": Source(
        "prometheus-operator/prometheus-operator",
        "v0.93.0",
        "example/prometheus-operator-crd",
        ("monitoring.coreos.com_*.yaml",),
    ),
    "operator.victoriametrics.com": Source(
        "VictoriaMetrics/operator",
        "v0.74.1",
        "config/crd/overlay/crd.descriptionless.yaml",
        ("operator.victoriametrics.com_*.yaml",),
    ),
    "jobset.x-k8s.io": Source(
        "kubernetes-sigs/jobset",
        "v0.12.0",
        "config/components/crd/bases",
        ("config/components/crd/bases/*.yaml",),
        module="sigs.k8s.io/jobset@v0.12.0",
    ),
    "leaderworkerset.x-k8s.io": Source(
        "kubernetes-sigs/lws",
        "v0.9.0",
        "config/crd/bases",
        ("config/crd/bases/leaderworkerset.x-k8s.io_*.yaml",),
        module="sigs.k8s.io/lws@v0.9.0",
    ),
}
OPENAPI = {
    "api__v1": (
        "ConfigMap Endpoints LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod "
        "PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount"
    ),
    "apis__apps__v1": "DaemonSet Deployment ReplicaSet StatefulSet",
    "apis__batch__v1": "CronJob Job",
    "apis__autoscaling__v1": "HorizontalPodAutoscaler",
    "apis__autoscaling__v2": "HorizontalPodAutoscaler",
    "apis__policy__v1": "PodDisruptionBudget",
    "apis__scheduling.k8s.io__v1": "PriorityClass",
    "apis__node.k8s.io__v1": "RuntimeClass",
    "apis__networking.k8s.io__v1": "Ingress NetworkPolicy",
    "apis__storage.k8s.io__v1": "StorageClass",
    "apis__admissionregistration.k8s.io__v1": (
        "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
    ),
    "apis__rbac.authorization.k8s.io__v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "apis__resource.k8s.io__v1": "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
    "apis__resource.k8s.io__v1beta1": "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
    "apis__resource.k8s.io__v1beta2": (
        "DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate ResourceSlice"
    ),
}
"""OpenAPI document of Kubernetes -> kinds that are taken from it."""
QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
"""k8s.io/apimachinery pkg/api/resource/generated.proto, the grammar that controller-gen writes."""
SCALARS: dict[str, Schema] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        "type": ["string", "number"],
        "pattern": QUANTITY,
    },
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"x-kubernetes-int-or-string": True},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    },
}
OPEN: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@dataclass(frozen=True)
class Chart:
    """A chart whose values the product validates."""

    source: Source
    values: str
    """Name of the copy of its values.yaml in the folder of charts."""
    open: tuple[str, ...]
    """Top-level values of sub-charts and of templates, with keys of others."""
    more: Schema
    """Values that only comments of values.yaml, or templates, name."""
    handed_on: tuple[tuple[str, str, str, str], ...] = ()
    """(values, API version, kind, field): sections that templates hand on to a custom resource."""
    unread: tuple[str, ...] = ()
    """Fields of the custom resource that no template sets."""


_TEXT: Schema = {"type": "string"}
_BOOLEAN: Schema = {"type": "boolean"}
_HELM: Schema = {"nameOverride": _TEXT, "fullnameOverride": _TEXT, "global": OPEN}
CHARTS = {
    "gpu-operator": Chart(
        SOURCES["nvidia.com"],
        "gpu-operator-v26.7.0.values.yaml",
        ("node-feature-discovery",),
        {
            **_HELM,
            "operator": {"version": _TEXT},
            "dcgmExporter": {"config": {"create": _BOOLEAN, "data": {}}},
        },
        (
            ("", "nvidia.com/v1", "ClusterPolicy", "spec"),
            ("driver.nvidiaDriverCRD", "nvidia.com/v1alpha1", "NVIDIADriver", "spec"),
            (
                "driver.upgradePolicy.gpuPodDeletion",
                "nvidia.com/v1",
                "ClusterPolicy",
                "spec.driver.upgradePolicy.podDeletion",
            ),
            ("draDriver", "nvidia.com/v1alpha1", "GPUCluster", "spec.draDriver"),
        ),
        ("psp",),
    ),
    "network-operator": Chart(
        SOURCES["mellanox.com"],
        "network-operator-26.4.1.values.yaml",
        (
            "node-feature-discovery",
            "sriov-network-operator",
            "maintenance-operator-chart",
            "test",
        ),
        {
            **_HELM,
            "imagePullSecrets": {"type": "array"},
            "operator": {
                "tag": _TEXT,
                "imagePullSecrets": {"type": "array"},
                "admissionController": {"certificate": OPEN},
            },
        },
    ),
}
NAMED: dict[str, Schema] = {
    "affinity": {"$ref": "#/$defs/core.v1.Affinity"},
    "resources": {"$ref": "#/$defs/core.v1.ResourceRequirements"},
    "tolerations": {"type": "array", "items": {"$ref": "#/$defs/core.v1.Toleration"}},
}
"""Values that charts hand on to a pod."""


def pruned(schema: Any) -> Any:
    """A schema of a definition without prose."""
    if not isinstance(schema, dict):
        return schema
    kept: Schema = {}
    for key, value in schema.items():
        if key == "properties":
            kept[key] = {name: pruned(child) for name, child in value.items()}
        elif key in ("items", "additionalProperties", "not"):
            kept[key] = pruned(value)
        elif key in ("oneOf", "anyOf", "allOf"):
            kept[key] = [pruned(child) for child in value]
        elif key == "x-kubernetes-validations":
            names = ("rule", "optionalOldSelf")
            kept[key] = [{name: rule[name] for name in names if name in rule} for rule in value]
        elif key in DATA or key in EXTENSIONS:
            kept[key] = value
    if kept.get("x-kubernetes-int-or-string"):
        kept.pop("anyOf", None)  # `integer` or `string`, which the extension says already
    return kept


def shared(schemas: dict[str, Schema]) -> tuple[dict[str, Schema], dict[str, Schema]]:
    """The schemas with equal parts replaced by references, and the parts by name."""
    text: dict[int, str] = {}
    edges: dict[str, set[tuple[str, str]]] = {}
    names: dict[str, str] = {}

    def visit(schema: Schema, parent: str, name: str) -> None:
        body = text[id(schema)] = json.dumps(schema, sort_keys=True)
        edges.setdefault(body, set()).add((parent, name))
        names.setdefault(body, name)
        for child_name, child in children(schema):
            visit(child, body, child_name)

    for name, schema in schemas.items():
        visit(schema, name, "")
    defs: dict[str, Schema] = {}
    given: dict[str, str] = {}
    used: Counter[str] = Counter()

    def emit(schema: Schema) -> Schema:
        body = text[id(schema)]
        if len(body) < 160 or len(edges[body]) < 2:
            return rebuilt(schema, emit)
        if body not in given:
            base = names[body].split("/")[-1] or "schema"
            used[base] += 1
            given[body] = name = base if used[base] == 1 else f"{base}{used[base]}"
            defs[name] = {}
            defs[name] = rebuilt(schema, emit)
        return {"$ref": f"#/$defs/{given[body]}"}

    return {name: rebuilt(schema, emit) for name, schema in schemas.items()}, defs


def children(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The schemas of fields, items and values, each with a name."""
    for name, child in schema.get("properties", {}).items():
        yield name, child
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield f"{key}", schema[key]


def rebuilt(schema: Schema, emit: Any) -> Schema:
    """The schema with its children emitted."""
    result = dict(schema)
    if "properties" in schema:
        result["properties"] = {name: emit(child) for name, child in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            result[key] = emit(schema[key])
    return result


def definitions(source: Source, crds: Path, modules: Path) -> list[Schema]:
    """The definitions of a source, by name of file."""
    folder = modules / source.module if source.module else crds
    files = sorted({file for pattern in source.files for file in folder.glob(pattern)})
    if not files:
        raise SystemExit(f"{folder}: no file {', '.join(source.files)} of {source.repository}")
    documents = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]
    return [one for one in documents if one and one["kind"] == "CustomResourceDefinition"]


def group_file(source: Source, found: list[Schema]) -> Schema:
    """One file of the catalogue: every kind of a group."""
    schemas: dict[str, Schema] = {}
    kinds: dict[str, Any] = {}
    for definition in found:
        spec = definition["spec"]
        names = spec["names"]
        kind = kinds[names["kind"]] = {
            "names": {key: value for key, value in names.items() if key != "kind"},
            "scope": spec["scope"],
            "versions": {},
        }
        for version in spec["versions"]:
            schema = pruned(version["schema"]["openAPIV3Schema"])
            if "status" in schema.get("properties", {}):
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
    """What is said about a source in its file."""
    return {
        "repository": source.repository,
        "release": source.release,
        "commit": source.commit,
        "path": source.path,
        "date": source.date,
    }


def kubernetes_file(folder: Path) -> Schema:
    """Kubernetes' own kinds."""
    defs: dict[str, Schema] = {}
    kinds: dict[str, Any] = {}
    for document, wanted in OPENAPI.items():
        path = folder / f"{document}_openapi.json"
        components = json.loads(path.read_text(encoding="utf-8"))["components"]["schemas"]
        for name, schema in components.items():
            described = schema.get("x-kubernetes-group-version-kind", [])
            own = [one for one in described if one["kind"] in wanted.split()]
            if len(described) != 1 or not own or name.endswith("List"):
                continue
            group, version = own[0]["group"], own[0]["version"]
            full = f"{group}/{version}" if group else version
            take(name, components, defs)
            body = defs[short(name)]
            for key in ("apiVersion", "kind"):
                body["properties"].pop(key, None)
            if "status" in body["properties"]:
                body["properties"]["status"] = OPEN
            kinds.setdefault(full, {})[own[0]["kind"]] = {"$ref": f"#/$defs/{short(name)}"}
    reached: set[str] = set()
    for versions in kinds.values():
        for reference in versions.values():
            reach(reference["$ref"].rsplit("/", 1)[-1], defs, reached)
    source = {
        "repository": "kubernetes/kubernetes",
        "release": KUBERNETES,
        "commit": "",
        "path": "kube-apiserver /openapi/v3",
        "date": READ,
    }
    return {"source": source, "kinds": kinds, "$defs": {n: defs[n] for n in sorted(reached)}}


def short(name: str) -> str:
    """`core.v1.PodSpec` of the full name of a type."""
    for start in ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apimachinery.pkg."):
        name = name.removeprefix(start)
    return name


def take(name: str, components: dict[str, Schema], defs: dict[str, Schema]) -> None:
    """Add a type and all that it refers to."""
    key = short(name)
    if key in defs:
        return
    defs[key] = {}
    if name in SCALARS:
        defs[key] = dict(SCALARS[name])
        return

    def fields(schema: Schema) -> Schema:
        if "allOf" in schema and len(schema["allOf"]) == 1:
            schema = schema["allOf"][0]
        if "$ref" in schema:
            target = schema["$ref"].rsplit("/", 1)[-1]
            take(target, components, defs)
            return {"$ref": f"#/$defs/{short(target)}"}
        kept = {
            k: v for k, v in schema.items() if (k in DATA and k != "default") or k in EXTENSIONS
        }
        return rebuilt(kept, fields)

    defs[key] = fields(components[name])


def reach(name: str, defs: dict[str, Schema], reached: set[str]) -> None:
    """Collect the names that a type leads to."""
    if name in reached:
        return
    reached.add(name)

    def walk(schema: Schema) -> None:
        if "$ref" in schema:
            reach(schema["$ref"].rsplit("/", 1)[-1], defs, reached)
        for _, child in children(schema):
            walk(child)

    walk(defs[name])


def chart_file(chart: Chart, folder: Path) -> Schema:
    """What the values of a chart may be."""
    values = yaml.safe_load((folder / chart.values).read_text(encoding="utf-8"))
    schema = of_value("", {key: one for key, one in values.items() if key not in chart.open})
    added(schema, {**chart.more, **dict.fromkeys(chart.open, OPEN)})
    return {
        "source": {**origin(chart.source), "path": chart.values},
        "handedOn": [list(one) for one in chart.handed_on],
        "unread": list(chart.unread),
        "values": schema,
    }


def of_value(name: str, value: Any) -> Schema:
    """The schema of a default value."""
    if name in NAMED:
        return NAMED[name]
    if isinstance(value, dict):
        fields = {key: of_value(key, one) for key, one in value.items()}
        names = fields and all(re.fullmatch("[A-Za-z_-]+", key) for key in fields)
        return {"type": "object", "properties": fields} if names else OPEN
    if isinstance(value, list):
        return {"type": "array"}
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {} if value is None else {"type": kinds[type(value)]}


def added(schema: Schema, more: Schema) -> None:
    """Put values that only comments name into a schema."""
    for name, one in more.items():
        if one and "type" not in one and "$ref" not in one:
            section = schema["properties"].setdefault(name, {"type": "object", "properties": {}})
            added(section, one)
        else:
            schema["properties"][name] = one


def write(name: str, content: Schema) -> None:
    """One file, one line for each kind and part, so that changes can be read."""
    lines = [f'"source":{compact(content["source"])}']
    for part in ("kinds", "$defs"):
        entries = ",\n".join(f"{json.dumps(k)}:{compact(v)}" for k, v in content[part].items())
        lines.append(f'"{part}":{{\n{entries}\n}}')
    (OUT / f"{name}.json").write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


def compact(value: Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def main() -> None:
    """Write every file."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--crds", type=Path, required=True)
    arguments.add_argument("--charts", type=Path, required=True)
    arguments.add_argument("--openapi", type=Path, required=True)
    arguments.add_argument("--modules", type=Path)
    options = arguments.parse_args()
    modules = options.modules or Path(
        subprocess.run(
            ["go", "env", "GOMODCACHE"], check=True, capture_output=True, text=True
        ).stdout.strip()
    )
    OUT.mkdir(parents=True, exist_ok=True)
    index: dict[str, dict[str, str]] = {}
    core = kubernetes_file(options.openapi)
    for version, kinds in core["kinds"].items():
        index[version] = dict.fromkeys(kinds, "kubernetes")
    write("kubernetes", core)
    reach("meta.v1.ObjectMeta", core["$defs"], names := set[str]())
    write(
        "metadata",
        {
            "source": core["source"],
            "kinds": {},
            "$defs": {name: core["$defs"][name] for name in sorted(names)},
        },
    )
    for name, source in SOURCES.items():
        content = group_file(source, definitions(source, options.crds, modules))
        write(name, content)
        for kind, described in content["kinds"].items():
            for version in described["versions"]:
                index.setdefault(f"{name}/{version}", {})[kind] = name
    for name, chart in CHARTS.items():
        (OUT / f"chart-{name}.json").write_text(
            compact(chart_file(chart, options.charts)) + "\n", encoding="utf-8"
        )
    lines = ",\n".join(f"{json.dumps(k)}:{compact(v)}" for k, v in index.items())
    (OUT / "index.json").write_text("{" + lines + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
