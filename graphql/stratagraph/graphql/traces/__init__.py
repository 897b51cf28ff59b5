"""Spans of instrumented agents over OTLP/HTTP: the endpoint, the bodies of requests, and the answers."""
