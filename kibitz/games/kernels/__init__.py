"""The functions that compiled rules offer."""
