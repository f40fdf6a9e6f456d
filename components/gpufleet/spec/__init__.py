"""FleetSpec, the only input model: `fleet_spec`. `document` reads text, `parse` plain data."""
