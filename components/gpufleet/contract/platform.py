"""A platform as a value: its name, its facts, and the folder that holds the rest of it.

Compile gets the values of all platforms, picks the one that the declaration names, and hands it on
in the fleet and in each pool. What a layer asks of the folder is typed where its protocol is:
`platform_rules` (fleet), `platform_files` (render), `platform_components` (components_base).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from gpufleet.contract.platform_facts import PlatformFacts
from gpufleet.spec.base import Platform


@dataclass(frozen=True, slots=True)
class PlatformValue:
    """One platform. Two values with the same name and package are equal."""

    name: Platform
    """As the declaration names it."""
    package: str
    """Package with the modules `facts`, `platform`, `artefacts`, `adoption` and `components`."""
    preflight: bool = False
    """Whether there is a module `preflight`, which asks the real cloud. Default false."""

    @property
    def facts(self) -> PlatformFacts:
        """What is so on the platform, as plain data."""
        return self.module("facts").FACTS

    def module(self, half: str) -> ModuleType:
        """A module of the package, imported when it is first asked for: a program pays only for the
        provider SDKs it uses, and pure code never loads a component.

        Raises ModuleNotFoundError where the package has none of that name.
        """
        return import_module(f"{self.package}.{half}")


Platforms = Mapping[Platform, PlatformValue]
"""All platforms that a program knows, by name."""
