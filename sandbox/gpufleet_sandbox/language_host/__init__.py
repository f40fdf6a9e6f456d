"""Runs Python programs, policy packs and component packages under the real Pulumi engine.

The vendor ships the Python language host only inside the CLI's release archive. Where that archive
is not available, this package replaces it: a gRPC server over the SDK's own service definition,
plus the executable that the engine starts for Python dynamic providers. The vendor's host is used
whenever it is on PATH; `install` writes ours only when requested.

`__main__.py` is the only entry, started by path and in two roles: as the language host, and as the
child that runs a program or a plugin in the interpreter that the project chose. No module here
imports the rest of `gpufleet`, so that the start is short and the child works in any environment
that has the SDK.
"""

from pathlib import Path


def install(bin_dir: Path, python: str) -> None:
    """Write the two executables into `bin_dir`; see `installation.install`."""
    # Imported here: this file also runs in every language host and every program it starts.
    from .installation import install as write

    write(bin_dir, python)
