"""The rules of Toepen, compiled, and what is built on them."""
