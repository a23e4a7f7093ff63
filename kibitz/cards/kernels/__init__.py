"""Cards: values and numbers of hands, strength, equity, GameShrink."""
