"""Pulumi type tokens -> how their properties are read, and Terraform's types -> tokens."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpufleet.cluster.capacity import ScheduledSize
from gpufleet.cluster.cluster import MetricsSource
from gpufleet.cluster.program import Program
from gpufleet.contract.relation import MONITORING_AGENT
from gpufleet.documents.shapes import is_mapping, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.names import meanings
from gpufleet_policies.readers.blocks import word
from gpufleet_policies.readers.fleet import fleet_from
from gpufleet_policies.readers.kubernetes_objects import reader_named
from gpufleet_policies.readers.nvidia_configs import parsed


def addon(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """An add-on of EKS that exports metrics or watches nodes."""
    name = word(document, "addonName")
    if name.found == "amazon-cloudwatch-observability":
        yield MetricsSource(locator=locator, what="CloudWatch observability add-on")
    if name.found == MONITORING_AGENT:
        text = document.get("configurationValues")
        values: Any = parsed(text) if text and isinstance(text, str) else text or {}
        whole = is_mapping(values)
        yield Program(
            locator=locator, name=MONITORING_AGENT, values=mapping(values), complete=whole
        )


def schedule(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """A schedule of an Auto Scaling group."""
    yield ScheduledSize(locator=locator, target=word(document, "autoscalingGroupName"))


def component(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """A component that passes a compiled fleet under `fleet`, as GpuFleet does."""
    fleet = fleet_from(document, locator)
    if fleet is not None:
        yield fleet


READERS = {t: reader_named(name) for t, name in meanings("reader of a type of Pulumi").items()}
"""Type token -> reader of its properties. Kubernetes objects are read by their own kind."""

TERRAFORM = meanings("resource of Terraform")
"""Terraform resource type -> the Pulumi token whose properties are the same fields."""

_VERSION = re.compile(r"_v\d\w*$")


def token_of(kind: str) -> str | None:
    """The token of a type of Terraform, whatever version of the API its name has."""
    return TERRAFORM.get(kind) or TERRAFORM.get(_VERSION.sub("", kind))


KINDS = {token: token.rsplit(":", 1)[-1] for token in READERS}
"""Name of a resource type in messages."""

_UNREAD = re.compile(
    "|".join(Path(__file__).with_name("unread_types.txt").read_text(encoding="utf-8").split())
)


def is_unread(kind: str) -> bool:
    """Whether resources of a type of Terraform or CloudFormation can hold GPUs and no rule reads
    them (`unread_types.txt`)."""
    return _UNREAD.fullmatch(kind) is not None
