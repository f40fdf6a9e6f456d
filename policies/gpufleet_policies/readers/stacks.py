"""Pulumi programs in YAML and templates of CloudFormation, the CDK's output among them.

Each resource is a separate document: its properties in Pulumi's spelling, with its type and name
under keys that no file can have. The value of a function, a reference or a parameter is UNKNOWN: a
default can be replaced with each deployment.

Sources: pulumi/pulumi-yaml README and pkg/pulumiyaml/packages.go (short type tokens); AWS
CloudFormation resource specification; aws/aws-cdk packages/aws-cdk-lib/aws-eks
lib/k8s-manifest.ts and lib/helm-chart.ts.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.documents.paths import text_at
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.names import meanings
from gpufleet_policies.readers.pulumi_props import facts_of_properties, group_and_kind
from gpufleet_policies.readers.pulumi_types import READERS, is_unread
from gpufleet_policies.readers.reading import without
from gpufleet_policies.wrappers.judged import NotJudged

TYPE, NAME = "\0type", "\0name"
"""Keys of a member's type token and name."""
Steps = tuple[str | int, ...]


def has_resources(document: Mapping[str, Any]) -> bool:
    """Whether a document is a Pulumi program in YAML or a CloudFormation template."""
    return _is_template(document) or _are_typed(document.get("resources"), "type", ":")


def _is_template(document: Mapping[str, Any]) -> bool:
    return _are_typed(document.get("Resources"), "Type", "::")


def _are_typed(resources: Any, key: str, sign: str) -> bool:
    """Whether a mapping has resources alone: each has a type with this sign in it."""
    found = mapping(resources).values()
    return bool(found) and all(sign in text_at(one, key) for one in found)


def resources_of(document: Mapping[str, Any]) -> Iterator[tuple[Steps, dict[str, Any]]]:
    """Place and content of each resource that will exist."""
    if _is_template(document):
        for name, one in mapping(document.get("Resources")).items():
            yield from _of_template(name, mapping(one))
        return
    for name, one in mapping(document.get("resources")).items():
        resource = mapping(one)
        if "get" in resource:
            continue  # it exists already, and another program describes it
        properties = without(resource.get("properties") or {}, _is_interpolated)
        member = {**mapping(properties), TYPE: _token(str(resource["type"])), NAME: name}
        yield ("resources", name, "properties"), member


def facts_of_resource(member: Mapping[str, Any], path: str) -> Iterator[Any]:
    """The facts of one member, or the reason why it is not validated."""
    token, name = str(member[TYPE]), str(member[NAME])
    properties = {key: value for key, value in member.items() if key not in (TYPE, NAME)}
    if token in READERS or group_and_kind(token) is not None:
        yield from facts_of_properties(token, properties, name, "", path)
    elif token.partition("::")[0] == "unread":
        kind = token.partition("::")[2]
        reason = f"no rule reads the fields of {kind}"
        yield NotJudged(locator=Locator(kind, name, file=path), what="terraform", reason=reason)


def _token(written: str) -> str:
    """`aws:eks/nodeGroup:NodeGroup` of the short form `aws:eks:NodeGroup`."""
    package, _, rest = written.partition(":")
    module, _, kind = rest.rpartition(":")
    if package == "kubernetes" or "/" in module or not kind:
        return written
    return f"{package}:{module or 'index'}/{kind[:1].lower()}{kind[1:]}:{kind}"


def _is_interpolated(value: Any) -> bool:
    if isinstance(value, str):
        return "${" in value
    return is_mapping(value) and any(key.startswith("fn::") for key in value)


def _is_intrinsic(value: Any) -> bool:
    if not is_mapping(value) or len(value) != 1:
        return isinstance(value, str) and "${" in value
    (key,) = value
    return key in ("Ref", "Condition") or key.startswith("Fn::")


_RENAMED = {"subnets": "subnetIds", "nodegroupName": "nodeGroupName"}
_KEPT = frozenset({"labels", "tags", "values"})
"""Mappings whose keys are the user's."""

_AWS = meanings("resource of CloudFormation")
_TEMPLATE = "AWS::EC2::LaunchTemplate"
_MANIFEST = "Custom::AWSCDK-EKS-KubernetesResource"
_CHART = "Custom::AWSCDK-EKS-HelmChart"


def _of_template(name: str, resource: Mapping[str, Any]) -> Iterator[tuple[Steps, dict[str, Any]]]:
    kind, written = str(resource.get("Type")), mapping(resource.get("Properties"))
    place: Steps = ("Resources", name, "Properties")
    if kind == _MANIFEST:
        for index, one in enumerate(_manifests(written.get("Manifest"))):
            group = str(one.get("apiVersion"))
            token = f"kubernetes:{group if '/' in group else f'core/{group}'}:{one.get('kind')}"
            yield (*place, "Manifest"), {**one, TYPE: token, NAME: f"{name}[{index}]"}
        return
    if kind == _CHART:
        yield place, _chart(name, written)
        return
    if is_unread(kind):
        yield place, {TYPE: f"unread::{kind}", NAME: name}
        return
    properties = mapping(_camel(without(written, _is_intrinsic)))
    if kind == _TEMPLATE:
        data = mapping(properties.pop("launchTemplateData", None))
        named = properties.pop("launchTemplateName", None)
        properties = {**data, **({} if named is None else {"name": named})}
        yield (
            (*place, "LaunchTemplateData"),
            {
                **properties,
                TYPE: "aws:ec2/launchTemplate:LaunchTemplate",
                NAME: name,
            },
        )
    elif kind in _AWS:
        template = mapping(properties.get("launchTemplate"))
        for key in ("Id", "Name"):
            if f"launchTemplate{key}" in template:
                template[key.lower()] = template.pop(f"launchTemplate{key}")
        if is_list(properties.get("tags")) and kind != "AWS::AutoScaling::AutoScalingGroup":
            pairs = (mapping(one) for one in properties["tags"])
            properties["tags"] = {
                str(one.get("Key", one.get("key"))): one.get("Value", one.get("value"))
                for one in pairs
            }
        yield place, {**properties, TYPE: _AWS[kind], NAME: name}


def _camel(value: Any, *, keep: bool = False) -> Any:
    if is_mapping(value):
        return {
            (key if keep else _renamed(key)): _camel(one, keep=_renamed(key) in _KEPT)
            for key, one in value.items()
        }
    if is_list(value):
        return [_camel(one) for one in value]
    return value


def _renamed(key: str) -> str:
    small = key[:1].lower() + key[1:]
    return _RENAMED.get(small, small)


def _manifests(written: Any) -> Iterator[dict[str, Any]]:
    """Objects of a manifest that the CDK writes as JSON, or joins from texts and references."""
    try:
        found: Any = json.loads(_joined(written))
    except (ValueError, RecursionError):
        return
    for one in found if is_list(found) else [found]:
        if is_mapping(one):
            yield mapping(without(one, _is_interpolated))


def _joined(written: Any) -> str:
    if isinstance(written, str):
        return written
    parts = mapping(written).get("Fn::Join")
    if not is_list(parts) or len(parts) != 2:
        return ""
    return str(parts[0]).join(p if isinstance(p, str) else "${reference}" for p in items(parts[1]))


def _chart(name: str, written: Mapping[str, Any]) -> dict[str, Any]:
    known = mapping(without(dict(written), _is_intrinsic))
    try:
        values: Any = json.loads(_joined(written.get("Values")) or "{}")
    except (ValueError, RecursionError):
        values = UNKNOWN
    return {
        "chart": known.get("Chart"),
        "version": known.get("Version"),
        "name": known.get("Release"),
        "namespace": known.get("Namespace"),
        "repositoryOpts": {"repo": known.get("Repository")},
        "values": without(values, _is_interpolated),
        TYPE: "kubernetes:helm.sh/v3:Release",
        NAME: name,
    }
