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
    orphans = list(_orphans(str(pulumi_home)))
    for process in orphans:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, stubborn = psutil.wait_procs(orphans, timeout=ORPHANS_LEAVE_WITHIN)
    for process in stubborn:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(stubborn, timeout=1)
    return len(orphans)


def _orphans(pulumi_home: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            if not Path(process.exe()).name.startswith("pulumi-resource-"):
                continue
            parent = process.parent()
            # By name: the executable of the system's first process may not be asked for.
            engine_runs = parent is not None and parent.name() == "pulumi"
            if not engine_runs and process.environ().get("PULUMI_HOME") == pulumi_home:
                yield process
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
