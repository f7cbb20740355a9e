"""Running programs on whole columns: draws, branches, noise that can be kept, and draws directed at a rare group."""
