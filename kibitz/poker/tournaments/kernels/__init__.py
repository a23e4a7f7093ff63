"""What tournaments of jam or fold compute most."""
