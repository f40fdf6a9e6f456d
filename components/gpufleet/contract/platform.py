"""A platform as a value: its name, its facts, and its folder.

Compile gets the values of all platforms, selects the one that the declaration names, and stores it
in the fleet and in each pool. The parts of the folder that a layer uses are typed in its protocol:
`platform_rules` (fleet), `platform_files` (render), `platform_components` (components_base).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from gpufleet.contract.platform_facts import PlatformFacts, platform_facts
from gpufleet.spec.base import Platform


@dataclass(frozen=True, slots=True)
class PlatformValue:
    """One platform. Two values with the same name and package are equal."""

    name: Platform
    """Its name in declarations."""
    package: str
    """Package with `facts.json` and the modules `platform` and `components`; optionally `facts`,
    `artefacts` (files), `adoption` (import) and `preflight` (checks of the account)."""

    @property
    def facts(self) -> PlatformFacts:
        """Facts of the platform, as plain data: of its module `facts`, if functions compute some,
        else of its file `facts.json` alone."""
        return self.module("facts").FACTS if self.has("facts") else _facts(self.package)

    @cache  # noqa: B019  there are a few values, for the whole run
    def module(self, half: str) -> ModuleType:
        """A module of the package, imported on first use: a program loads only the provider SDKs
        that it uses, and pure code never loads a component.

        A package inside another platform's package shares the modules that it lacks. Raises
        ModuleNotFoundError if the module does not exist.
        """
        return import_module(_named(self.package, half) or f"{self.package}.{half}")

    def has(self, half: str) -> bool:
        """Whether the module exists."""
        return _named(self.package, half) is not None


@cache
def _named(package: str, half: str) -> str | None:
    names = (f"{one}.{half}" for one in (package, package.rpartition(".")[0]))
    return next((name for name in names if find_spec(name) is not None), None)


@cache
def _facts(package: str) -> PlatformFacts:
    return platform_facts(str(import_module(package).__file__))


Platforms = Mapping[Platform, PlatformValue]
"""All platforms that a program knows, by name."""
