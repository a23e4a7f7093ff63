"""What shards of one training have learned, put together: regrets and averages are sums, so their differences add up.

All shards begin with the same rows. A shard answers with the rows that it changed (`changes`), as they are now. After a
merge (`merged`) each number is what it was, plus what each shard added to it. Sums are in double precision and in the
order of the shards.

Shards that walk side by side from the same rows make the same corrections, and together they go too far. So each of W
shards begins with regrets divided by W (`begun`): then what it learns weighs W times as much next to them, as if the
others learned the same. Strategies do not change by that, as regret matching has no scale; the sum of what was learned
is the same sum.

With one shard nothing is divided, and a number that one shard alone has changed is taken as it is: one shard by itself
is plain training.

Rows are arrays as a store saves them (`Store.arrays`): key and value of a hash table, or columns with fixed places. A
row of a hash table whose average has become smaller was driven out of a full table and made anew: all of it was added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
KEY, VALUE, REGRET, AT = "key", "value", "regret", "_at"
SPARSE = 2  # a place and a number take twice the room of a number: so many times fewer have to have changed


def begun(before: Arrays, scale: float) -> Arrays:
    """The rows that a shard begins with: regrets times `scale`."""
    if scale == 1.0:
        return before
    factor = np.float32(scale)
    if KEY not in before:
        return {name: array * factor if name == REGRET else array for name, array in before.items()}
    value = np.array(before[VALUE])
    value[:, : value.shape[1] // 2] *= factor
    return {**before, VALUE: value}


def changes(before: Arrays, after: Arrays) -> Arrays:
    """What a shard has changed: rows by key, or numbers by their places; all of them if nearly all were changed."""
    if KEY in before:
        return _changed_rows(before, after)
    answer: Arrays = {}
    for name, old in before.items():
        new = after[name]
        at = np.flatnonzero(_bits(old) != _bits(new))
        if SPARSE * len(at) < len(new):
            answer[name + AT], new = at.astype(np.uint32 if len(new) < 1 << 32 else np.uint64), new[at]
        answer[name] = new
    return answer


def merged(before: Arrays, answers: Sequence[Arrays], scale: float = 1.0) -> Arrays:
    """The rows after a merge: of a hash table those that some shard changed, the new ones last; else all columns.

    scale: of the regrets that shards began with.
    """
    start = begun(before, scale)
    if KEY in before:
        return _merged_rows(before, start, answers, scale == 1.0)
    return {name: _merged_columns(before[name], start[name], name, answers) for name in before}


def size_of(arrays: Arrays) -> int:
    """Bytes that travel."""
    return sum(array.nbytes for array in arrays.values())


def _bits(array: NDArray[Any]) -> NDArray[np.uint32]:
    """Numbers are the same if their bits are: 0.0 and -0.0 are not."""
    return np.ascontiguousarray(array).view(np.uint32)


# Columns with fixed places


def _merged_columns(
    old: NDArray[Any], start: NDArray[Any], name: str, answers: Sequence[Arrays]
) -> NDArray[Any]:
    total, whole = old.astype(np.float64), _bits(old) == _bits(start)
    for answer in answers:
        new = answer[name]
        if name + AT in answer:
            at = answer[name + AT]
        else:
            at = np.flatnonzero(_bits(start) != _bits(new))
            new = new[at]
        exact = new.astype(np.float64)
        total[at] = np.where(whole[at], exact, total[at] + (exact - start[at]))
        whole[at] = False
    return total.astype(old.dtype)


# Rows by key


def _sorted_rows(arrays: Arrays) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
    """(keys, values) in the order of keys; a table that is saved as it stands has empty places."""
    key = np.asarray(arrays[KEY])
    at = np.flatnonzero(key)
    at = at[np.argsort(key[at], kind="stable")]
    return key[at], np.asarray(arrays[VALUE])[at]


def _where(keys: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(places in sorted keys, whether a key is there)."""
    if not len(keys):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return at, keys[at] == wanted


def _changed_rows(before: Arrays, after: Arrays) -> Arrays:
    (old_keys, old), filled = _sorted_rows(before), np.flatnonzero(after[KEY])
    keys, new = after[KEY][filled], after[VALUE][filled]
    at, known = _where(old_keys, keys)
    changed = ~known
    changed[known] = (_bits(new[known]) != _bits(old[at[known]])).any(axis=1)
    return {KEY: keys[changed], VALUE: new[changed]}


def _merged_rows(before: Arrays, start: Arrays, answers: Sequence[Arrays], same: bool) -> Arrays:
    """same: whether rows are at the start what they were before."""
    keys, first = np.unique(np.concatenate([answer[KEY] for answer in answers]), return_index=True)
    (old_keys, old), (_, begin) = _sorted_rows(before), _sorted_rows(start)
    at, known = _where(old_keys, keys)
    total, rows = (np.zeros((len(keys), old.shape[1])) for _ in range(2))
    total[known], rows[known] = old[at[known]], begin[at[known]]
    whole, room = np.full(len(keys), same) | ~known, rows.shape[1] // 2
    for answer in answers:
        its, _ = _where(keys, answer[KEY])
        new = answer[VALUE].astype(np.float64)
        anew: NDArray[np.bool_] = np.asarray((new[:, room:] < rows[its, room:]).any(axis=1))
        added = new - np.where(anew[:, None], 0.0, rows[its])
        taken = whole[its] & ~anew
        total[its] = np.where(taken[:, None], new, total[its] + added)
        whole[its] = False
    order = np.argsort(np.where(known, -1, first), kind="stable")  # in the order of a shard they find its places
    return {KEY: keys[order], VALUE: total[order].astype(np.float32)}
