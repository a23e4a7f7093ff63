"""What every other package uses: errors, spec strings, saved artefacts, threads, memory, random numbers, the
compiler."""
