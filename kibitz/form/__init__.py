"""What solvers see of a game: treeplexes, rows, and a payoff operator."""
