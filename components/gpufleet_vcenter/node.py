"""The resources of a group of machines: its id, and the group."""

GROUP = "gpufleet:vsphere:MachineGroup"
"""Type of the machines of a pool. Its inputs `nodes` have those of each machine by key (fields of
`settings.py`, camelCase), and `boot` their secret first-boot data. Its destruction does not remove
Kubernetes Nodes unless `kubernetes` is given; see `VsphereGpuNodeGroup`."""
OWNER = "gpufleet:vsphere:MachineOwner"
"""Type of the id of a group: which stack, of which backend, its machines belong to. It is in the
state before the first machine is made, so that a kill leaves no unknown machine. Its removal
removes all machines with the id."""
MACHINE, BATCH = "gpufleet:vsphere:Machine", "gpufleet:vsphere:MachineBatch"
"""Types in states of earlier versions: records of machines that the group has now, until the next
update. Nothing of them differs, and their removal deletes only the record: the machine has the id
of the group in its marks. An update has that group, which keeps or removes it, and a destroy
removes the resource of the id next, with all machines of the id."""
