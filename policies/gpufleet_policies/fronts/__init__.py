"""Integrations that report findings: CrossGuard, audit, admission policies."""
