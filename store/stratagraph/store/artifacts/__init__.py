"""Large bytes by their hash: which there are, who may know of them, and the object store that holds them."""
