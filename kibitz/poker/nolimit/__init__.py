"""No-limit betting: translation of bets that an abstract game does not have."""
