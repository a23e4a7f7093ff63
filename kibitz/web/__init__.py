"""The web interface (`kibitz ui`): view strategies, play against them and follow runs, on this machine only.

`library.py` finds saved files. `look.py` and `poker.py` compute what is shown of a strategy. `tables.py` runs a game
with a person. `runs.py` reads runs and crosstables. None of these knows HTTP: `guard.py` checks every request and
`app.py` answers it.
"""
