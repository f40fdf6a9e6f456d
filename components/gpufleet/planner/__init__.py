"""From models and jobs to a fleet: choice of GPU and share, packing, cost, a FleetSpec.

`gpufleet.planner.choice` ranks what could run one workload, `gpufleet.planner.packing` puts shares
onto machines, `gpufleet.planner.plan` writes a FleetSpec for a file of workloads. Nothing is
imported here: who asks for a choice need not wait for the models of the declaration.
"""
