"""An object while a kustomization is built, and what chooses objects."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpufleet.documents.paths import mapping_at, text_at
from gpufleet.documents.shapes import mapping
from gpufleet_policies.resolve.layers import Layers

CLUSTER_WIDE = frozenset(
    Path(__file__).with_name("cluster_wide.txt").read_text(encoding="utf-8").split()
)
"""Kinds of Kubernetes and of programs for GPUs that are in no namespace."""


@dataclass(slots=True)
class Made:
    """One object of a build, as far as it is built."""

    data: dict[str, Any]
    layers: Layers
    names: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Namespaces and names that it had before, the first of them in its own file."""
    problem: str = ""
    """Why it cannot be built; empty: it can."""
    generated: bool = False
    """Whether a generator made it, so that it is in no file as such."""

    @property
    def kind(self) -> str:
        """Its kind."""
        return text_at(self.data, "kind")

    @property
    def name(self) -> str:
        """Its name now."""
        return text_at(self.data, "metadata.name")

    @property
    def namespace(self) -> str:
        """Its namespace now; empty: none is written."""
        return text_at(self.data, "metadata.namespace")

    @property
    def group_version(self) -> tuple[str, str]:
        """API group, empty for core, and version."""
        group, _, version = text_at(self.data, "apiVersion").rpartition("/")
        return group, version

    def is_called(self, name: str, namespace: str | None = None) -> bool:
        """Whether it has, or had, a name, in a namespace where one is named."""
        known = [(self.namespace, self.name), *self.names]
        return any(
            own == name and (namespace is None or (space or "default") == (namespace or "default"))
            for space, own in known
        )


def fits(selector: Any, made: Made) -> bool:
    """Whether a patch or a replacement with a selector is about an object: patterns must fit whole
    values, and what is not written fits all (kustomize api/types/selector.go, `anchorRegex`)."""
    texts = {key: value for key, value in mapping(selector).items() if isinstance(value, str)}
    if "apiVersion" in texts:
        texts["group"], _, texts["version"] = texts["apiVersion"].rpartition("/")
    group, version = made.group_version
    if not all(
        _whole(texts.get(key, ""), value)
        for key, value in (("group", group), ("version", version), ("kind", made.kind))
    ):
        return False
    if not any(
        _whole(texts.get("name", ""), name)
        and _whole(texts.get("namespace", ""), space or "default")
        for space, name in [(made.namespace, made.name), *made.names]
    ):
        return False
    return all(
        _labelled(texts.get(f"{key}Selector", ""), mapping_at(made.data, f"metadata.{key}s"))
        for key in ("label", "annotation")
    )


def _whole(pattern: str, value: str) -> bool:
    try:
        return not pattern or re.fullmatch(pattern, value) is not None
    except re.error:
        return pattern == value


_IN = re.compile(r"^\s*([\w./-]+)\s+(in|notin)\s+\(([^)]*)\)\s*$")


def _labelled(selector: str, labels: Mapping[str, Any]) -> bool:
    """Whether labels fit a selector of Kubernetes: `a=b`, `a!=b`, `a in (b, c)`, `a`, `!a`."""
    for part in re.split(r",(?![^(]*\))", selector):
        part = part.strip()
        if not part:
            continue
        found = _IN.match(part)
        if found is not None:
            values = {one.strip() for one in found[3].split(",")}
            ok = (labels.get(found[1]) in values) is (found[2] == "in")
        elif "!=" in part:
            key, _, value = part.partition("!=")
            ok = labels.get(key.strip()) != value.strip()
        elif "=" in part:
            key, _, value = part.replace("==", "=").partition("=")
            ok = labels.get(key.strip()) == value.strip()
        else:
            ok = (part.lstrip("!") in labels) is not part.startswith("!")
        if not ok:
            return False
    return True
