"""Credentials in texts: the forms by which they are known, and masking them."""
