"""The FleetSpec as TypedDicts in the spelling of files, for the `spec` of `GpuFleet`."""
