"""kibitz export: games and profiles in the formats of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibitz.cli.common import check_file, game_and_tree, rules_of
from kibitz.cli.options import argument
from kibitz.cli.watch import Watch
from kibitz.core.errors import ArtefactError, KibitzError

if TYPE_CHECKING:
    pass


def export(
    source: Annotated[str, argument("GAME|PROFILE", "A game, as for `kibitz solve`, or a saved profile.")],
    target: Annotated[Path, argument("FILE", "FILE.efg for a game; FILE.csv or FILE.json for a profile.")],
) -> None:
    """Write a game or a profile for other programs.

    A game becomes a Gambit .efg file, a profile CSV or JSON. The number of histories or infosets is printed.

    \b
    Examples:
      kibitz export kuhn kuhn.efg
      kibitz export leduc.profile leduc.csv           columns seat, infoset, action, probability

    In CSV, names that begin with = + - @ ' or a control character get a ' in front, so that spreadsheets do not read
    them as formulas.
    """
    is_profile = Path(source).is_dir()
    as_profile = source.rstrip("/").endswith(".profile") or target.suffix.lower() in (".csv", ".json")
    if not is_profile and not Path(source).exists() and as_profile:
        _check_profile(source, target)
    check_file(target, "FILE", (".csv", ".json") if is_profile else (".efg",))
    target.parent.mkdir(parents=True, exist_ok=True)
    if is_profile:
        from kibitz.commands import export as write
        from kibitz.forms.profile import Profile

        profile = Profile.load(source)
        write(profile, target)
        typer.echo(f"wrote {target}: {len(profile.infosets.labels):,} infosets")
        return
    from kibitz.games.efg import write_efg

    with Watch() as watch:
        game, tree = game_and_tree(source, watch)  # laying out checks the rules, which write_efg trusts
        watch.phase(f"writing {target}")
        write_efg(game, target)
    typer.echo(f"wrote {target}: {tree.histories:,} histories")


def _check_profile(source: str, target: Path) -> None:
    """Refuse a profile that is not there, or a game that should become the file of a profile."""
    try:
        rules_of(source)
    except KibitzError:
        raise ArtefactError(
            f"no saved profile at {source}: `kibitz solve GAME --out NAME.profile` writes one"
        ) from None
    raise ArtefactError(f"FILE {target} should end in .efg, as {source} is a game: .csv and .json are for profiles")
