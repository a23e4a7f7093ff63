"""Push/fold tournaments: hands, the Independent Chip Model, and stochastic games over stacks.

icm([10, 7, 13], [50, 30, 20])                                      values of stacks, by Malmuth-Harville
pushfold([10, 7, 13], blinds=(1, 2), prizes=[50, 30, 20])           one push/fold hand
tournament("tournament(players=3)")                                 the rules of a whole tournament
solve(rules), check(rules, solution.jams)                           an equilibrium of it, and what a player could gain
"""

from kibitz.poker.tournaments.chip_model import icm
from kibitz.poker.tournaments.equilibrium import Check, TournamentSolution, check, solve
from kibitz.poker.tournaments.single import Chart, PushFold, pushfold
from kibitz.poker.tournaments.states import Tournament, tournament

__all__ = ["Chart", "Check", "PushFold", "Tournament", "TournamentSolution", "check", "icm", "pushfold", "solve",
           "tournament"]  # fmt: skip
