"""A Kubernetes control plane with simulated GPU nodes on one machine, without containers or root.

`Sandbox` is the entry point. It is imported on first use: the language host is in this package too,
and starts with every engine command, so its start must be fast.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpufleet_sandbox.errors import SandboxError
    from gpufleet_sandbox.sandbox import Sandbox

__all__ = ["Sandbox", "SandboxError"]


def __getattr__(name: str) -> Any:
    if name == "Sandbox":
        from gpufleet_sandbox.sandbox import Sandbox

        return Sandbox
    if name == "SandboxError":
        from gpufleet_sandbox.errors import SandboxError

        return SandboxError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
