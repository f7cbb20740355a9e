"""Running programs on whole columns: draws, branches, noise that can be stored, and draws directed at a rare group."""
