"""Allocation of the cost of nodes to teams."""
