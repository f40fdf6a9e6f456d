"""Resource kinds that both clouds share, and a default kind for all other resources."""

import hashlib
from abc import ABC, abstractmethod

# ruff: noqa: ARG002 - what one cloud needs, another ignores
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpufleet_sandbox.cloud.naming import name_property
from gpufleet_sandbox.cloud.sdk import ResourceType, Sdk
from gpufleet_sandbox.cloud.store import CloudFolder, Stored


class CloudError(Exception):
    """The cloud refuses the call, in the words of its API."""


class NoAnswerError(CloudError):
    """A look-up without an answer in the cloud's state or the scenario."""


@dataclass(frozen=True, slots=True)
class Made:
    """State after a call."""

    id: str
    outputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Computed properties; inputs need not be repeated."""
    seen: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Inputs that the cloud holds otherwise than they were given, because they were not sent."""
    filled: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Blocks of inputs to which the cloud adds something: outputs only."""


class ResourceKind(ABC):
    """Creation, update and deletion of one type of resource. Inputs hold neither secrets markers
    nor unknowns; `region` and names are filled in."""

    @abstractmethod
    def create(self, inputs: Mapping[str, Any]) -> Made:
        """Make it. Raises CloudError when the API would refuse."""

    @abstractmethod
    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        """Change it in place. Raises CloudError when the API would refuse."""

    @abstractmethod
    def delete(self, before: Stored) -> None:
        """End it. Raises CloudError when the API would refuse."""


class CloudAccount(ABC):
    """One cloud account as its provider sees it.

    Args:
        folder: the state, shared by all engine runs that name the same folder.
        settings: the provider's own settings, `region` and the like.
    """

    name: str

    def __init__(self, folder: CloudFolder, settings: Mapping[str, Any]) -> None:
        self.folder = folder
        self.settings = dict(settings)
        self.sdk = sdk(self.name)

    @abstractmethod
    def kind(self, resource: ResourceType) -> ResourceKind:
        """Handlers of resources of that type."""

    def configured(self, settings: Mapping[str, Any]) -> None:
        """Take the provider's settings. Raises CloudError when one that is needed is missing."""
        self.settings = dict(settings)

    def identified(self, token: str, identifier: str) -> str:
        """The id under which a resource is kept; imports may write it in another form."""
        return identifier

    def filled(self, token: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Inputs with what the provider's settings imply."""
        return dict(inputs)

    def answer(self, function: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Result of a look-up.

        Raises:
            NoAnswerError: nothing here answers the look-up.
        """
        for answer in self.folder.scenario().answers:
            if answer.function == function and all(
                arguments.get(key) == value for key, value in answer.arguments.items()
            ):
                return dict(answer.result)
        shown = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
        raise NoAnswerError(
            f"the stand-in has no answer to {function}({shown}); give one under `answers` in "
            f"{self.folder.scenario_file}"
        )


class PlainKind(ResourceKind):
    """A resource without a simulated API: its inputs are checked and kept."""

    def __init__(self, cloud: CloudAccount, resource: ResourceType) -> None:
        self.cloud = cloud
        self.resource = resource

    def create(self, inputs: Mapping[str, Any]) -> Made:
        """Keep it; its id is its name, or a digest of what was requested."""
        identifier = self.identifier(inputs)
        if self.cloud.folder.find(self.resource.token, identifier) is not None:
            raise CloudError(f"{self.resource.token} {identifier} already exists")
        return Made(identifier, self.computed(identifier, inputs))

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        """Keep the new inputs; computed properties stay."""
        kept = {name: value for name, value in before.outputs.items() if name not in before.inputs}
        return Made(before.id, {**kept, **self.computed(before.id, inputs)})

    def delete(self, before: Stored) -> None:
        """Nothing more to do."""

    def identifier(self, inputs: Mapping[str, Any]) -> str:
        """The id: what names the resource, else a digest of its inputs."""
        named = inputs.get(name_property(self.resource.token))
        return str(named) if named is not None else digest(self.resource.token, inputs)[:17]

    def computed(self, identifier: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Properties the cloud would add."""
        return {}


def digest(*parts: Any) -> str:
    """Forty hex digits that depend on nothing but the arguments."""
    text = "\x1f".join(
        repr(sorted(part.items())) if isinstance(part, dict) else repr(part) for part in parts
    )
    return hashlib.sha256(text.encode()).hexdigest()[:40]


_SDKS: dict[str, Sdk] = {}


def sdk(name: str) -> Sdk:
    """The installed SDK of a provider; read once per process."""
    return _SDKS.setdefault(name, Sdk(name))
