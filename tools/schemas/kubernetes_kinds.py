"""Kubernetes' own kinds, from the OpenAPI documents that a kube-apiserver serves."""

import json
from pathlib import Path
from typing import Any

from pruning import DATA, EXTENSIONS, OPEN, Schema
from sharing import children, rebuilt
from sources import READ

KUBERNETES = "v1.36.3"
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


def metadata_file(core: Schema) -> Schema:
    """The metadata of every object, a small part of Kubernetes' kinds."""
    reach("meta.v1.ObjectMeta", core["$defs"], names := set[str]())
    defs = {name: core["$defs"][name] for name in sorted(names)}
    return {"source": core["source"], "kinds": {}, "$defs": defs}
