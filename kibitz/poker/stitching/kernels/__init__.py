"""Compiled parts of stitching in poker."""
