"""Simulators of the GPU operands: what runs on a GPU node, simulated from the cluster's objects.

They read Nodes, ConfigMaps, Deployments and the ClusterPolicy, follow NVIDIA's rules, and publish
labels and allocatable resources. Nothing here imports the code that compiles or renders a fleet,
and the hardware table is a second one, so that a mistake there shows here as a node without the
resource, a label `failed`, or a pod that does not schedule.

One file per operand. `docs/operand-simulators.md` describes what each follows and leaves out.
"""
