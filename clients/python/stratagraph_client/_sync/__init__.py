"""The sync client, made of `_async` by `make clients`."""
