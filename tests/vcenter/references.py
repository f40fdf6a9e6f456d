"""References of objects across the runs of a simulator.

A vCenter keeps the references of its objects; a restarted simulator counts from the beginning.
Outside, a machine keeps its first reference, a new object never gets an earlier reference, and a
task of an earlier run is unknown.
"""

import re
from dataclasses import dataclass, field

_REFERENCE = re.compile(rb">(vm|task)-(\d+)<")
_LIVES_APART = 1_000_000
"""Maximum number of objects of one run."""


@dataclass
class References:
    """Names of one run's machines and tasks, inside and outside."""

    life: int = 0
    """Number of earlier runs."""
    lasting: frozenset[str] = frozenset()
    """Machines of the model: every run has the same names for them."""
    server_id: tuple[str, str] = ("", "")
    """The server's own uuid, in this run and outside; empty: the same."""
    _outside: dict[str, str] = field(default_factory=dict[str, str])
    _inside: dict[str, str] = field(default_factory=dict[str, str])

    def bind(self, inside: str, outside: str) -> None:
        """This run's machine is one that had another name before."""
        self._outside[inside] = outside
        self._inside[outside] = inside

    def outside(self, text: bytes) -> bytes:
        """A response with outside names."""
        if not self.life:
            return text
        own, told = self.server_id
        text = text.replace(own.encode(), told.encode()) if own else text
        return _REFERENCE.sub(lambda found: _tagged(self.outer(_name(found))), text)

    def inside(self, text: bytes) -> bytes:
        """A call as it goes in."""
        if not self.life:
            return text
        return _REFERENCE.sub(lambda found: _tagged(self.inner(_name(found))), text)

    def outer(self, name: str) -> str:
        """Outside name of the object."""
        if name in self.lasting:
            return name
        if name in self._outside:
            return self._outside[name]
        kind, number = name.split("-")
        return f"{kind}-{self.life * _LIVES_APART + int(number)}"

    def inner(self, name: str) -> str:
        """Inside name of the object; `vm-0`, an unused name, if it no longer exists."""
        if name in self.lasting:
            return name
        if name in self._inside:
            return self._inside[name]
        kind, number = name.split("-")
        life, own = divmod(int(number), _LIVES_APART)
        return f"{kind}-{own if life == self.life else 0}"


def _name(found: "re.Match[bytes]") -> str:
    return found[0][1:-1].decode()


def _tagged(name: str) -> bytes:
    return f">{name}<".encode()
