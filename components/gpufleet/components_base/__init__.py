"""What every component is made of: arguments, resources, releases of charts."""
