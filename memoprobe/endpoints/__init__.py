"""Talk to OpenAI-compatible servers; the only package that imports an HTTP library."""
