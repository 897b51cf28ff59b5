"""Who a tenant is and what protects it: interned names, a caller's bounds, credentials, encryption at rest."""
