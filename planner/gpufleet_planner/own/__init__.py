"""A rented fleet compared with machines of one's own."""
