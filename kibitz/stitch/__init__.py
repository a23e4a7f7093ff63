"""Strategy stitching: finer experts joined to a base strategy [Waugh et al. 2009a; Gibson & Szafron 2011].

    partition(game, "prefix(r, cr)")        which part of the game each decision belongs to
    static(game, base, partition, ...)      an expert for each part, solved with the base frozen outside it
    dynamic(game, partition, abstractions)  a different abstraction in each part, solved together
    rebuild_base(game, stitched, ...)       the base solved anew with the experts frozen
    cohere(game, base, partition, ...)      static and rebuild_base in turns
    join(base, partition, chosen)           parts copied from other profiles, nothing solved

The result is an ordinary profile of the real game; or a blueprint, if experts are stitched onto one.
"""

from kibitz.stitch.experts import cohere, dynamic, experts, join, rebuild_base, size_of_dynamic, static
from kibitz.stitch.partition import Partition, partition
from kibitz.stitch.targets import Expert, Limit, Solving

__all__ = [
    "Expert", "Limit", "Partition", "Solving", "cohere", "dynamic", "experts", "join", "partition", "rebuild_base",
    "size_of_dynamic", "static",
]  # fmt: skip
