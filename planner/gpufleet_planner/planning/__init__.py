"""From models and jobs to a fleet: choice of GPU and share, cost, a FleetSpec.

`choice` ranks what could run one workload, `gpufleet_planner.packing` puts shares onto machines,
`plan` writes a FleetSpec for a file of workloads. Nothing is imported here: a caller of `choice`
does not wait for the models of the declaration.
"""
