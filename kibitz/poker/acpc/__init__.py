"""Matches over the protocol of the Annual Computer Poker Competition: its lines, a dealer and a client.

states.py   the lines, read and written        wire.py    lines over a socket, with limits
log.py      the log of a match, and its return seats.py   who sits at the table: agents and connections
dealer.py   a match                            client.py  one who plays elsewhere
"""
