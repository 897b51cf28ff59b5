"""The embedders that the settings can name: an endpoint, or a local model. Without the setting, none is imported."""
