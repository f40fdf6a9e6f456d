"""An inventory of thousands: read in few calls, held in little memory."""

import time

import psutil

from gpufleet_vcenter.credentials import Credentials
from gpufleet_vcenter.inventory import read_inventory
from gpufleet_vcenter.lookup import by_name
from gpufleet_vcenter.session import session_for
from gpufleet_vcenter.settings import Endpoint
from tests.engine.vcenter_fixture import PASSWORD, USER
from tests.engine.vsphere.direct import PROVIDER, UNCLOSED, Made, created

pytestmark = UNCLOSED


def test_an_inventory_of_two_thousand_machines(other: Made) -> None:
    cloud = other(hosts=8, gpus=4, machines=1, population=2000)
    endpoint = Endpoint.model_validate(
        {"server": "127.0.0.1", "port": cloud.running.port, "plainHttp": True}
    )
    session = session_for(endpoint, Credentials(USER, PASSWORD))
    datacenter = by_name(session, session.content.rootFolder, "datacenter", "DC0")
    compute = by_name(session, datacenter, "cluster", "DC0_C0")
    me = psutil.Process()
    before, started = me.memory_info().rss, time.process_time()
    found = read_inventory(session, datacenter, compute)
    seconds, grown = time.process_time() - started, me.memory_info().rss - before
    assert len(found.hosts) == 8
    assert sum(len(host.gpus) for host in found.hosts) == 32
    assert len(cloud.machines()) == 2002
    assert grown < 150 << 20, f"{grown >> 20} MiB"
    assert seconds < 10, f"{seconds:.1f} s of this process's time"

    cloud.proxy.reset()
    outs = created(cloud.node(1))
    assert outs["powerState"] == "poweredOn"
    assert cloud.proxy.total < 70, "calls do not grow with the inventory, only their answers"
    PROVIDER.delete(outs["instanceUuid"], outs)
