"""Vovk-Azoury-Warmuth forecasters: plain, discounted, with a vote over discounts, sketched."""
