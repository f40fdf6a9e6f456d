"""Terraform files as the resources that they declare: literal values, and modules of the tree.

A folder that no other one names as a module is a root. Its variables are known from
`terraform.tfvars` and `*.auto.tfvars` alone, as a default can be replaced with each run; those of a
module are known from its call, else its default. References to literal values of resources are
known inside of their module.

Source: Terraform language: input variables, modules, files.

Node groups of terraform-aws-modules/terraform-aws-eks, node_groups.tf at 002be2f: a group has its
own value, else that of `eks_managed_node_group_defaults`, else the module's, and a launch template.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.documents.shapes import as_mapping, is_mapping
from gpufleet_policies.readers.reading import without
from gpufleet_policies.resolve.hcl import Block, FilePath, HclError, read_hcl
from gpufleet_policies.resolve.tree import plain
from gpufleet_policies.wrappers.judged import Unjudged

SOURCE = "terraform-aws-modules/eks/aws"
GROUPS = "eks_managed_node_groups"
_SIZES = {"min_size": 1, "max_size": 3, "desired_size": 1}
_PASSED_ON = ("instance_types", "ami_type", "capacity_type", "labels")


def node_groups(module: Block) -> Iterator[tuple[str, dict[str, Any]]]:
    """Key and values of each group of a call, as `aws_eks_node_group` has them. Nothing where the
    map of groups is not literal."""
    given = module.attributes
    defaults = given.get("eks_managed_node_group_defaults", {})
    for key, group in (as_mapping(given.get(GROUPS)) or {}).items():
        own = as_mapping(group)
        if own is None:
            yield key, {"scaling_config": UNKNOWN, "instance_types": UNKNOWN}
        elif own.get("create") is not False:
            yield key, _values(key, own, defaults, given)


def _values(
    key: str, own: Mapping[str, Any], defaults: Any, module: Mapping[str, Any]
) -> dict[str, Any]:
    shared = as_mapping(defaults)

    def said(name: str, otherwise: Any = None) -> Any:
        if name in own:
            return own[name]
        return UNKNOWN if shared is None else shared.get(name, otherwise)

    taints = said("taints", [])
    by_name = as_mapping(taints)
    tags = [one for one in (module.get("tags"), said("tags")) if one is not None]
    values: dict[str, Any] = {
        "node_group_name": own.get("name", key),
        "cluster_name": module.get("cluster_name", module.get("name")),
        "version": said("cluster_version", module.get("cluster_version")),
        "scaling_config": [{name: said(name, size) for name, size in _SIZES.items()}],
        "taint": taints if by_name is None else list(by_name.values()),
        "tags": UNKNOWN if UNKNOWN in tags else {k: v for one in tags for k, v in one.items()},
        "node_repair_config": said("node_repair_config"),
        **{name: said(name) for name in _PASSED_ON},
    }
    if said("use_custom_launch_template", True) is not False:
        values["launch_template"] = [{"name": "?"}]  # one that the module makes
    return {name: value for name, value in values.items() if value is not None}


_DEEPEST = 10


@dataclass(frozen=True, slots=True)
class DeclaredResource:
    """One resource, with the file and the block that declare it."""

    file: str
    block: Block
    address: str
    values: Mapping[str, Any]

    @property
    def type(self) -> str:
        """Its type: `aws_eks_node_group`."""
        return self.block.labels[0]


class Configuration:
    """The Terraform files of a run, by folder."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.problems: list[Unjudged] = []
        self._texts = {plain(name): text for name, text in files.items()}
        self._folders: dict[str, list[str]] = {}
        for name in sorted(self._texts):
            if not name.endswith(".tfvars"):
                self._folders.setdefault(posixpath.dirname(name) or ".", []).append(name)

    def resources(self) -> list[DeclaredResource]:
        """Every resource of each root, with those of its modules."""
        called = {
            plain(posixpath.join(folder, source))
            for folder, names in self._folders.items()
            for block in self._blocks(names, {}, report=True)
            if block[1].kind == "module"
            and isinstance(source := block[1].attributes.get("source"), str)
            and source.startswith(".")
        }
        found: list[DeclaredResource] = []
        for folder in self._folders:
            if folder not in called:
                found += self._of_folder(folder, self._given(folder), "", 0)
        return found

    def _given(self, folder: str) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for name in sorted(self._texts):
            base = posixpath.basename(name)
            own = (posixpath.dirname(name) or ".") == folder
            if own and (base == "terraform.tfvars" or base.endswith(".auto.tfvars")):
                given |= self._read(name, {}).attributes
        return given

    def _of_folder(
        self, folder: str, given: Mapping[str, Any], prefix: str, depth: int
    ) -> Iterator[DeclaredResource]:
        names = self._folders.get(folder, [])
        variables = {f"var.{name}": value for name, value in given.items()}
        if depth:
            for _, block in self._blocks(names, {}):
                if block.kind == "variable" and block.labels:
                    default = block.attributes.get("default", UNKNOWN)
                    variables.setdefault(f"var.{block.labels[0]}", default)
        known = dict(variables)
        for _, block in self._blocks(names, variables):
            if block.kind == "locals":
                known |= {f"local.{name}": value for name, value in block.attributes.items()}
        for _, block in self._blocks(names, known):
            if block.kind == "resource":
                known |= dict(_references(block))
        for file, block in self._blocks(names, known):
            if block.kind == "resource" and len(block.labels) == 2:
                if block.attributes.get("count") != 0:
                    address = f"{prefix}{'.'.join(block.labels)}"
                    values = values_of(block)
                    if block.labels[0] != "helm_release":  # a file of the tree is read itself
                        values = without(values, lambda one: isinstance(one, FilePath))
                    yield DeclaredResource(file, block, address, values)
            elif block.kind == "module" and block.labels:
                yield from self._of_module(file, block, folder, prefix, depth)

    def _of_module(
        self, file: str, block: Block, folder: str, prefix: str, depth: int
    ) -> Iterator[DeclaredResource]:
        source = block.attributes.get("source")
        where = plain(posixpath.join(folder, source)) if isinstance(source, str) else ""
        name = f"module.{block.labels[0]}"
        if source == SOURCE and is_mapping(block.attributes.get(GROUPS)):
            line = block.lines[GROUPS]
            for key, values in node_groups(block):
                group = Block("resource", ("aws_eks_node_group", key), line)
                yield DeclaredResource(file, group, f'{prefix}{name}["{key}"]', values)
            if "self_managed_node_groups" not in block.attributes:
                return
        if not isinstance(source, str) or not source.startswith(".") or where not in self._folders:
            reason = f"the module {source if isinstance(source, str) else 'of an expression'} is "
            reason += "not among the files: audit the plan (terraform show -json)"
            left = Unjudged(file, block.line, f"{prefix}{name}", "terraform", reason)
            self.problems.append(left)
        elif depth < _DEEPEST and block.attributes.get("count") != 0:
            yield from self._of_folder(where, block.attributes, f"{prefix}{name}.", depth + 1)

    def _blocks(
        self, names: Sequence[str], known: Mapping[str, Any], *, report: bool = False
    ) -> Iterator[tuple[str, Block]]:
        for name in names:
            for block in self._read(name, known, report=report).blocks:
                yield name, block

    def _read(self, name: str, known: Mapping[str, Any], *, report: bool = False) -> Block:
        try:
            return read_hcl(self._texts[name], known)
        except HclError as problem:
            if report:
                reason = f"not read as HCL: {problem}"
                self.problems.append(Unjudged(name, 0, "", "terraform", reason))
            return Block("")


def _references(block: Block) -> Iterator[tuple[str, Any]]:
    """How others refer to the literal values of a resource, and to those of its metadata."""
    start = ".".join(block.labels)
    yield from ((f"{start}.{name}", value) for name, value in block.attributes.items())
    for below in block.blocks:
        for name, value in below.attributes.items() if below.kind == "metadata" else ():
            yield f"{start}.metadata[0].{name}", value


_META = frozenset({"depends_on", "provider"})
"""Arguments of Terraform itself, which are no values of the resource."""


def values_of(block: Block) -> dict[str, Any]:
    """The values of a resource as a plan has them: blocks are lists, dynamic ones UNKNOWN."""
    values = {name: one for name, one in block.attributes.items() if name not in _META}
    for below in block.blocks:
        if below.kind == "dynamic" and below.labels:
            values[below.labels[0]] = UNKNOWN
        elif values.get(below.kind) is not UNKNOWN:
            values.setdefault(below.kind, []).append(values_of(below))
    return values
