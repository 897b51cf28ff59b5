"""How records leave the store: pruned when they have faded, deleted on request, or erased with every trace."""
