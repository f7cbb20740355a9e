"""Rates: formulas over shares and means of a population, decided by sampling or, for a census, exactly."""
