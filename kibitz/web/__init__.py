"""The web interface (`kibitz serve`): strategies to look at, tables to play at, runs to watch, on this machine alone.

`library.py` finds what is saved, `look.py` and `poker.py` say what is shown of a strategy, `tables.py` seats a
person, `runs.py` reads runs and crosstables; none of these knows HTTP. `guard.py` lets requests in, `app.py` answers.
"""
