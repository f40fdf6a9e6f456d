"""From somebody's documents to facts. Nothing here validates."""
