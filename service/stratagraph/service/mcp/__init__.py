"""The MCP server: eight tools, resources and prompts over the GraphQL API, by stdio and at /mcp.

Each call of a tool is a request to the API with the caller's own credential: nothing here decides what a caller may see
or change. `definitions` is what models read, `arguments` checks what they send, `tools` asks the API.
"""
