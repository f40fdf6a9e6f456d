"""Arguments of cloud resources that their provider refuses, before anything is registered."""

from collections.abc import Mapping
from typing import Any

from gpufleet.catalogue.provider_inputs import violations
from gpufleet.findings import Finding, error


def refused_arguments(resources: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """What providers refuse about the arguments of resources: type -> arguments."""
    return [
        error(
            "provider-refuses-argument",
            found.path,
            f"the provider refuses {found.path} of {type_}: it {found.reason}",
            "write a value that it takes",
        )
        for type_, arguments in resources.items()
        for found in violations(type_, arguments)
    ]
