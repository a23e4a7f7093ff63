"""Compiled functions of spots with several players."""
