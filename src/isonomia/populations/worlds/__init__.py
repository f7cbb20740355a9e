"""Running programs on whole columns: draws, branches, stored noise, and draws directed at a rare group."""
