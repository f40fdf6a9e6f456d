"""A platform that does not exist: own machines in racks, whose row is a label of the network."""
