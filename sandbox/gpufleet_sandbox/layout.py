"""Paths of one sandbox's files: all below a single folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpufleet_sandbox.errors import SandboxError

FOLDER_VARIABLE = "GPUFLEET_SANDBOX"
"""Environment variable that names the sandbox folder when no `--dir` is given."""


@dataclass(frozen=True, slots=True)
class SandboxLayout:
    """The paths of one sandbox. Nothing is made by naming a path."""

    root: Path
    """Absolute path of the sandbox folder."""

    @property
    def lock(self) -> Path:
        """Held while a command changes this sandbox; also marks the folder as a sandbox."""
        return self.root / ".lock"

    @property
    def deploy_lock(self) -> Path:
        """Held while stacks are deployed into this sandbox; the engine itself does not wait."""
        return self.root / ".deploy-lock"

    @property
    def state(self) -> Path:
        """Ports and processes of the last `up`."""
        return self.root / "state.json"

    @property
    def bin(self) -> Path:
        """The one folder that goes onto PATH."""
        return self.root / "bin"

    @property
    def certificates(self) -> Path:
        """Authority, server and client certificates with their keys; readable by the owner only."""
        return self.root / "certificates"

    @property
    def etcd(self) -> Path:
        """Every object of the cluster."""
        return self.root / "etcd"

    @property
    def config(self) -> Path:
        """Configuration files handed to the processes."""
        return self.root / "config"

    @property
    def logs(self) -> Path:
        """One log per process."""
        return self.root / "logs"

    @property
    def kubeconfig(self) -> Path:
        """Cluster administrator's kubeconfig, certificates embedded."""
        return self.root / "kubeconfig"

    @property
    def environment(self) -> Path:
        """Shell file to source: `. .sandbox/env`."""
        return self.root / "env"

    @property
    def pulumi_home(self) -> Path:
        """The engine's own folder: plugins, credentials of the file backend."""
        return self.root / "pulumi-home"

    @property
    def backend(self) -> Path:
        """The engine's file backend: the state of every stack deployed into this sandbox."""
        return self.root / "pulumi"

    @property
    def passphrase(self) -> Path:
        """Passphrase of the sandbox's stacks."""
        return self.root / "passphrase"

    def log(self, process: str) -> Path:
        """The log of one process."""
        return self.logs / f"{process}.log"

    @property
    def data(self) -> tuple[Path, ...]:
        """All that `reset` deletes. The lock stays: another command may be waiting on it."""
        return (
            self.state,
            self.bin,
            self.certificates,
            self.etcd,
            self.config,
            self.logs,
            self.kubeconfig,
            self.environment,
            self.pulumi_home,
            self.backend,
            self.passphrase,
        )

    def is_sandbox(self) -> bool:
        """Whether this folder is already a sandbox."""
        return self.lock.exists() or self.state.exists()

    def claim(self) -> None:
        """Make the folder, private to its owner.

        Raises:
            SandboxError: The path is taken by something that is not a sandbox. Files of ours among
                a person's own would be deleted together by a later `reset`.
        """
        if self.root.exists():
            if not self.root.is_dir():
                raise SandboxError(f"{self.root} is not a folder; name another one with --dir")
            if not self.is_sandbox() and any(self.root.iterdir()):
                raise SandboxError(
                    f"{self.root} holds files and is not a sandbox; name an empty or new folder "
                    "with --dir"
                )
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as problem:
            raise SandboxError(
                f"cannot make the sandbox folder {self.root}: {problem.strerror}; name another one "
                "with --dir"
            ) from problem


def locate(directory: Path | None, environment: Mapping[str, str], here: Path) -> SandboxLayout:
    """The sandbox a command means.

    In order: `directory`, `$GPUFLEET_SANDBOX`, `.sandbox` next to the nearest `Pulumi.yaml` from
    `here` upwards, `.sandbox` in `here`.
    """
    if directory is not None:
        return SandboxLayout((here / directory).resolve())
    if named := environment.get(FOLDER_VARIABLE):
        return SandboxLayout((here / named).resolve())
    for folder in (here, *here.parents):
        if (folder / "Pulumi.yaml").is_file():
            return SandboxLayout((folder / ".sandbox").resolve())
    return SandboxLayout((here / ".sandbox").resolve())
