"""Rates: formulas over shares and means of a population, decided by sampling or, for a census, exactly."""

from isonomia.audits.rates.check import check_rates
from isonomia.audits.rates.plan import RatesPlan, plan_rates

__all__ = ["RatesPlan", "check_rates", "plan_rates"]
