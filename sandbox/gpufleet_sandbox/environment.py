"""The environment in which the engine uses a sandbox: the same for a shell and for tests."""

import shlex
from collections.abc import Mapping

from gpufleet_sandbox.charts_folder import charts_folder
from gpufleet_sandbox.layout import FOLDER_VARIABLE, SandboxLayout

CHARTS_VARIABLE = "GPUFLEET_CHARTS"
"""Folder of charts that the examples take where no setting names another."""
UNSET = ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_ACCESS_TOKEN", "PULUMI_STACK")
"""Variables that would win over ours and point the engine elsewhere."""


def variables(layout: SandboxLayout) -> dict[str, str]:
    """Variables that a sandbox sets, except PATH."""
    return {
        FOLDER_VARIABLE: str(layout.root),
        CHARTS_VARIABLE: str(charts_folder()),
        "KUBECONFIG": str(layout.kubeconfig),
        "PULUMI_HOME": str(layout.pulumi_home),
        "PULUMI_BACKEND_URL": f"file://{layout.backend}",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(layout.passphrase),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }


def merged(layout: SandboxLayout, inherited: Mapping[str, str]) -> dict[str, str]:
    """A complete environment for a child process: what is inherited, with the sandbox on top."""
    environment = {name: value for name, value in inherited.items() if name not in UNSET}
    path = inherited.get("PATH", "/usr/bin:/bin")
    return {**environment, **variables(layout), "PATH": f"{layout.bin}:{path}"}


def shell(layout: SandboxLayout) -> str:
    """POSIX shell lines with the same effect. Sourcing them twice changes nothing more."""
    folder = shlex.quote(str(layout.bin))
    lines = [
        "# Written by `gpufleet sandbox up`. Source it:  . " + shlex.quote(str(layout.environment)),
        f"unset {' '.join(UNSET)}",
        *(f"export {name}={shlex.quote(value)}" for name, value in variables(layout).items()),
        f'case ":$PATH:" in *:{folder}:*) ;; *) export PATH={folder}:"$PATH" ;; esac',
    ]
    return "\n".join(lines) + "\n"
