"""Poker by the definitions of the computer poker competition."""
