"""What an agent does with memory: capture (`capture/`), retrieve (`retrieve/`), look up, and import (`imports/`)."""
