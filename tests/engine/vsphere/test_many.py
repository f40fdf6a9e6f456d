"""300 machines of one group, from the first to the last, by a process that holds nothing else."""

import json
import os
import subprocess
import sys
from typing import Any

from tests.engine.vcenter_fixture import PASSWORD, USER, Vcenter
from tests.engine.vsphere.direct import Made, group_inputs

MACHINES = 300
MOST_MB = 130
"""Memory of the provider's process at its peak, as Linux counts it since the program began."""
PROGRAM = """
import json, sys
from pathlib import Path
from gpufleet_vcenter.group_provider import VsphereGpuNodeGroupProvider

provider = VsphereGpuNodeGroupProvider()
made = provider.create(json.load(sys.stdin))
uuids = {node["instanceUuid"] for node in made.outs["nodes"].values()}
provider.delete("g", made.outs)
rows = Path("/proc/self/status").read_text().splitlines()
(peak,) = [int(row.split()[1]) * 1024 for row in rows if row.startswith("VmHWM:")]
print(json.dumps({"machines": len(uuids), "mb": peak / 1_000_000}))
"""


def made_and_removed(cloud: Vcenter, machines: int) -> dict[str, Any]:
    """Output of a process that creates a group of this size, and removes it."""
    given = group_inputs(cloud, *range(machines))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps({**given, "rolloutWidth": 16}),
        env={
            **os.environ,
            "VSPHERE_USER": USER,
            "VSPHERE_PASSWORD": PASSWORD,
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_three_hundred_machines_come_and_go(other: Made) -> None:
    cloud = other(hosts=MACHINES // 4 + 1, gpus=4, machines=1)
    before = cloud.machines()
    said = made_and_removed(cloud, MACHINES)
    assert said["machines"] == MACHINES
    assert said["mb"] <= MOST_MB, said
    assert cloud.machines() == before
