"""A rented fleet compared with owned machines."""
