"""Show a whole study in small, on the reference model: it is known what that has seen."""
