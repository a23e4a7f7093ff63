"""Strategy stitching: finer experts joined to a base strategy [Waugh et al. 2009a; Gibson & Szafron 2011].

    partition(game, "prefix(r, cr)")        which part of the game each decision belongs to
    static(game, base, partition, ...)      an expert for each part, solved with the base frozen outside it
    dynamic(game, partition, abstractions)  a different abstraction in each part, solved together
    rebuild_base(game, stitched, ...)       the base solved anew with the experts frozen
    cohere(game, base, partition, ...)      static and rebuild_base in turns
    join(base, partition, chosen)           parts copied from other profiles, nothing solved

The result is an ordinary Profile of the real game.
"""

from kibitz.stitch.experts import Expert, cohere, dynamic, experts, join, rebuild_base, size_of_dynamic, static
from kibitz.stitch.partition import Partition, partition

__all__ = [
    "Expert", "Partition", "cohere", "dynamic", "experts", "join", "partition", "rebuild_base", "size_of_dynamic",
    "static",
]  # fmt: skip
