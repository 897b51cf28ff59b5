"""Tenants and callers, interned names, credentials, and encryption at rest."""
