"""Ends provider processes that outlived the engine which started them.

The Kubernetes provider never notices that its engine was killed: it goes on with what it was
creating and then stays for ever.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

ORPHANS_LEAVE_WITHIN = 2.0
"""Seconds between asking an orphaned provider to leave and killing it."""


def end_orphaned_plugins(pulumi_home: Path) -> int:
    """End provider processes of this PULUMI_HOME whose engine is gone; returns how many."""
    orphans = [process for process in plugins(pulumi_home) if _is_orphan(process)]
    for process in orphans:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, stubborn = psutil.wait_procs(orphans, timeout=ORPHANS_LEAVE_WITHIN)
    for process in stubborn:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(stubborn, timeout=1)
    return len(orphans)


def plugins(pulumi_home: Path) -> Iterator[psutil.Process]:
    """Provider processes of this PULUMI_HOME that run."""
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            is_plugin = Path(process.exe()).name.startswith("pulumi-resource-")
            if is_plugin and process.environ().get("PULUMI_HOME") == str(pulumi_home):
                yield process


def _is_orphan(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        parent = process.parent()
        # By name: the executable of the system's first process may not be requested.
        return parent is None or parent.name() != "pulumi"
    return False
