"""First-boot data in Ignition's form, for Red Hat CoreOS, Fedora CoreOS and Flatcar.

Format: Ignition specification 3.4.0 (coreos/ignition, its page configuration-v3_4, read
2026-11-22). Contents are data URLs (RFC 2397), so that nothing is fetched but what is named.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

VERSION = "3.4.0"
"""Read by OpenShift 4.14 and later, Fedora CoreOS 38, Flatcar 3602."""
PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class IgnitionFile:
    """A file that exists before anything is started."""

    path: str
    content: str
    mode: int = PRIVATE


@dataclass(frozen=True, slots=True)
class IgnitionUnit:
    """A systemd unit that is started at boot."""

    name: str
    contents: str


def data_url(text: str) -> str:
    """A text as the address of itself."""
    encoded = base64.b64encode(text.encode()).decode()
    return f"data:text/plain;charset=utf-8;base64,{encoded}"


def ignition(
    files: Sequence[IgnitionFile] = (),
    units: Sequence[IgnitionUnit] = (),
    *,
    merged: str | None = None,
    authority: str | None = None,
) -> str:
    """The configuration as JSON, the same bytes for the same arguments.

    Args:
        files: Files.
        units: Units, all enabled.
        merged: Address of a configuration that is fetched and merged below this one.
        authority: PEM certificate by which that address is known.
    """
    head: dict[str, Any] = {"version": VERSION}
    if merged is not None:
        head["config"] = {"merge": [{"source": merged}]}
    if authority is not None:
        head["security"] = {"tls": {"certificateAuthorities": [{"source": data_url(authority)}]}}
    document: dict[str, Any] = {"ignition": head}
    if files:
        document["storage"] = {
            "files": [
                {
                    "path": file.path,
                    "mode": file.mode,
                    "overwrite": True,
                    "contents": {"source": data_url(file.content)},
                }
                for file in files
            ]
        }
    if units:
        document["systemd"] = {
            "units": [
                {"name": unit.name, "enabled": True, "contents": unit.contents} for unit in units
            ]
        }
    return json.dumps(document, sort_keys=True)
