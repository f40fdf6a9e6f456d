"""A platform as a value: its name, its facts, and the folder that holds the rest of it.

Compile gets the values of all platforms, picks the one that the declaration names, and hands it on
in the fleet and in each pool. What a layer asks of the folder is typed where its protocol is:
`platform_rules` (fleet), `platform_files` (render), `platform_components` (components_base).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from gpufleet.contract.platform_facts import PlatformFacts
from gpufleet.spec.base import Platform


@dataclass(frozen=True, slots=True)
class PlatformValue:
    """One platform. Two values with the same name and package are equal."""

    name: Platform
    """As the declaration names it."""
    package: str
    """Package with the modules `facts`, `platform` and `components`; where there is something to
    write, to read back or to ask, `artefacts`, `adoption` and `preflight` too."""

    @property
    def facts(self) -> PlatformFacts:
        """What is so on the platform, as plain data."""
        return self.module("facts").FACTS

    def module(self, half: str) -> ModuleType:
        """A module of the package, imported when it is first asked for: a program pays only for the
        provider SDKs it uses, and pure code never loads a component.

        A package inside another platform's shares the modules that it does not have itself. Raises
        ModuleNotFoundError where there is none of that name.
        """
        return import_module(_named(self.package, half) or f"{self.package}.{half}")

    def has(self, half: str) -> bool:
        """Whether there is such a module."""
        return _named(self.package, half) is not None


@cache
def _named(package: str, half: str) -> str | None:
    names = (f"{one}.{half}" for one in (package, package.rpartition(".")[0]))
    return next((name for name in names if find_spec(name) is not None), None)


Platforms = Mapping[Platform, PlatformValue]
"""All platforms that a program knows, by name."""
