"""A sweep goes through all boards of a two-player poker game, flop by flop, and keeps nothing of them.

It gives exact values of strategies of buckets in the whole game, where no memory holds its hands on boards:
best responses (`exploitability`) and the value of one strategy against another. The boards of a flop are a shard.
"""
