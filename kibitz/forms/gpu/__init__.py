"""CFR on the sequence form by a GPU: layout of the arrays, CUDA source, and the state of a run."""
