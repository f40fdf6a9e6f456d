"""User name and password of a vCenter, and their sources. They are kept in memory only."""

import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gpufleet_vcenter.errors import VsphereError, failed


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user and a password. The password is never printed."""

    user: str = field(repr=False)
    password: str = field(repr=False)
    key: str = "vsphere"
    """Key under which they are read."""

    def refused(self, server: str, fault: str) -> VsphereError:
        """The error for a server that refuses this user."""
        row, prefix = "authentication/refused", self.key.upper()
        return failed(row, fault=fault, server=server, known=self, prefix=prefix)


_REFUSED: dict[tuple[str, int, Credentials], VsphereError] = {}
_LOGGING_IN = threading.Lock()


@contextmanager
def one_login(server: str, port: int, known: Credentials) -> Generator[None]:
    """One login at a time, and none with credentials that this process has seen refused: vCenter
    locks an account after 5 failed logins (VMware vSphere 8.0 Authentication, "Edit the vCenter
    Single Sign-On Lockout Policy").

    Raises:
        VsphereError: the server has refused them.
    """
    key = (server, port, known)
    with _LOGGING_IN:
        if (before := _REFUSED.get(key)) is not None:
            raise before.with_left(before.left)
        try:
            yield
        except VsphereError as failure:
            if failure.code == "vsphere-authentication":
                _REFUSED[key] = failure
            raise


def forget_refusals() -> None:
    """Let refused credentials be tried again."""
    with _LOGGING_IN:
        _REFUSED.clear()


class StackSettings:
    """The stack's settings, as the engine passes them to this process."""

    read: Callable[[str], Any] | None = None


def _part(key: str, name: str) -> str | None:
    """The environment's, else the stack's, which a program in another language may have under the
    package's name."""
    read: Callable[[str], Any] = StackSettings.read or dict[str, Any]().get
    return (
        os.environ.get(f"{key}_{name}".upper())
        or read(f"{key}:{name}")
        or read(f"gpufleet:{key}{name.capitalize()}")
    )


def credentials(key: str) -> Credentials:
    """The credentials that `key` names: the environment first, else the stack's settings.

    Args:
        key: `vsphere` names VSPHERE_USER and VSPHERE_PASSWORD, else `vsphere:user` and
            `vsphere:password`.

    Raises:
        VsphereError: neither place has both; the text names both places.
    """
    user, password = _part(key, "user"), _part(key, "password")
    if user and password:
        return Credentials(str(user), str(password), key)
    lacking = " and ".join(
        name for name, value in (("user name", user), ("password", password)) if not value
    )
    raise failed("authentication/absent", lacking=lacking, prefix=key.upper(), key=key)
