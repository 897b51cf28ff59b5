"""Exports over HTTP: the endpoint /export, and exports that are held open so that a client can continue them."""
