"""Admission policies as files for `kubectl apply` and GitOps."""

from collections.abc import Iterable
from pathlib import Path

from gpufleet.documents.whole_file import write_whole_text
from gpufleet.documents.writing import yaml_stream
from gpufleet_policies.fronts.admission.policies import Policy


def text_of(policy: Policy) -> str:
    """A policy and its binding as YAML."""
    return yaml_stream((policy.policy, policy.binding))


def write_policies(folder: Path, policies: Iterable[Policy]) -> dict[str, str]:
    """Write a file per policy; name of the policy -> path. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, str] = {}
    for policy in policies:
        path = folder / f"{policy.name}.yaml"
        write_whole_text(path, text_of(policy))
        written[policy.name] = str(path)
    return written
