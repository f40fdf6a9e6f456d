"""From someone's documents to facts. Nothing here validates."""
