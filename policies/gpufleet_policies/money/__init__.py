"""Costs of findings. All prices come from the catalogue and from compiled pools."""
