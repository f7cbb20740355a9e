"""New York City Local Law 144: the summary of a bias audit (6 RCNY 5-300 to 5-304)."""
