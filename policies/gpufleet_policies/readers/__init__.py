"""From somebody's documents to facts. Nothing here judges."""
