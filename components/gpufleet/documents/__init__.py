"""Reading and writing YAML and JSON, and numbers that are written as text."""
