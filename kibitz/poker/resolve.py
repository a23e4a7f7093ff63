"""Poker in buckets of hands: the abstract game that is solved, and the form that a profile of one was made on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.tables import Tell
from kibitz.core.errors import GameError, SolverError
from kibitz.forms.choice import compact_form, needs_tree
from kibitz.forms.problem import Abstracted
from kibitz.forms.profile import Profile
from kibitz.forms.protocol import CompactForm, Form
from kibitz.games import game as make_game
from kibitz.games.tree import Tree
from kibitz.poker.bucketed.build import bucket_form, layout_of
from kibitz.poker.bucketed.form import BucketForm
from kibitz.poker.buckets.buckets import hand_buckets, is_bucket_name
from kibitz.poker.buckets.hand_buckets import HandBuckets
from kibitz.poker.buckets.names import poker_buckets
from kibitz.poker.exact.form import PokerForm
from kibitz.poker.rules import acpc
from kibitz.poker.sampled.form import ViewForm
from kibitz.poker.sampled.layout import ViewLayout

Floats = NDArray[np.float64]
# An iteration of CFR, measured on Rhode Island hold'em: by product of a bucket with a bucket, by sequence of the
# abstract game, and by sequence of the whole game with all hands.
SECONDS_A_PRODUCT, SECONDS_A_SEQUENCE, SECONDS_A_HAND = 6e-11, 2e-8, 1.2e-8


def abstracted_form(form: CompactForm, source: Any, device: str = "cpu") -> Abstracted:
    """The abstract game of a poker form in buckets."""
    if not isinstance(form, PokerForm):
        raise SolverError(f"{form.spec} in {form.abstraction} cannot be put into other buckets: give the game itself")
    named = hand_buckets(form.definition, source) if is_bucket_name(source) else None
    if named is not None and _better_within(form, named):  # by the joint weights of buckets
        of_class = named.classes(form.cards)
        return _abstracted(named.name, form, bucket_form(form.game, named, device), (of_class, of_class))
    if device != "cpu":
        raise SolverError(
            "device gpu is for poker in perfect-recall buckets, such as percentile(8), and not for this game: leave "
            "it out"
        )
    name, buckets = poker_buckets(form, source)
    return _abstracted(name, form, form.bucketed(buckets))


def _abstracted(name: str, form: PokerForm, small: Any, classes: Any = None) -> Abstracted:
    """An abstract game, and the way back to all hands. classes: as of `PokerForm.lift`."""

    def lift(probabilities: Floats) -> Floats:
        return form.to_probabilities(form.lift(small, small.to_strategy(probabilities), classes))

    return Abstracted(name, small, small.points, lift)


def _better_within(form: PokerForm, buckets: HandBuckets) -> bool:
    """Whether products of joint weights are less work than all hands on boards."""
    if not buckets.perfect_recall or form.abstraction:
        return False
    layout = layout_of(form.game, buckets)
    products = SECONDS_A_PRODUCT * layout.products + SECONDS_A_SEQUENCE * layout.sequences
    return products < SECONDS_A_HAND * form.sequences


def within_buckets(
    game: Any, source: Any, device: str = "cpu", tell: Tell | None = None, sampled: bool = False
) -> BucketForm | ViewForm | None:
    """The form of a poker game in buckets, where the game itself is too large for a form; else None.

    sampled: the one whose boards are sampled, however large the game is; imperfect-recall buckets have no other.
    """
    if not is_bucket_name(source) or isinstance(game, Tree | Form):
        return None
    rules: Any = make_game(game)
    if needs_tree(rules):
        return None
    if not sampled:
        try:
            compact_form(rules)
            return None
        except GameError:
            pass
    buckets = hand_buckets(rules.definition, source)
    if not sampled and buckets.perfect_recall:
        return bucket_form(rules, buckets, device, tell)
    return ViewForm(rules, [buckets], device=device)


def form_of_profile(game: Any, profile: Profile, device: str = "cpu", tell: Tell | None = None) -> CompactForm | None:
    """The form that a profile of buckets was made on; None for other profiles."""
    compact = profile.infosets.compact
    if compact is None or not compact.form.abstraction:
        return None
    layout: Any = compact.form
    if isinstance(layout, ViewLayout):
        raise GameError(
            "the profile uses several sets of buckets, or imperfect-recall buckets, so it can only be evaluated in "
            "the unabstracted game: kibitz evaluate PROFILE --whole"
        )
    rules: Any = make_game(game)
    definition = getattr(rules, "definition", None)
    if definition is None or acpc.write(definition) != acpc.write(layout.definition):
        raise GameError(f"the profile was made for another game ({profile.game or 'without a name'})")
    buckets = hand_buckets(definition, layout.abstraction)
    if buckets.digest != layout.buckets_digest:
        raise GameError(
            f"the profile's buckets are not those that {layout.abstraction} makes now: solve the game again, or give "
            "the saved buckets that it was solved with"
        )
    return bucket_form(rules, buckets, device, tell)
