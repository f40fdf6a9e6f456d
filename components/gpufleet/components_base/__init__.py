"""Common parts of all components: arguments, resources, releases of charts."""
