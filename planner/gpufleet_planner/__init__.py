"""From models, jobs and measurements to a fleet, and to the size of what runs already."""
