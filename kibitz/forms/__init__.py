"""What solvers see of a game: treeplexes, rows, and a payoff operator. `protocol.py` says what they ask of a form."""
