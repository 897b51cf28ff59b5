"""Plans as graphs to draw: ranks and orders of their steps, and groups of steps where a plan is too large to show."""
