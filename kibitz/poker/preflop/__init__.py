"""Play before the flop: ranges of hands to open, call and raise with."""
