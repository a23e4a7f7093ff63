"""What everything stands on: errors, spec strings, saved artefacts, threads, memory, random numbers, the compiler."""
