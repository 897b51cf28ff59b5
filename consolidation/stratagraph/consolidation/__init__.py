"""Work in the background. Learning and forgetting come later; what is here keeps the house."""
