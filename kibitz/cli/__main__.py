"""`python -m kibitz.cli` is the command `kibitz`."""

from kibitz.cli import main

main()
