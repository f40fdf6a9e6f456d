"""vSphere: rules, first-boot data, components and the machines on vCenter."""
