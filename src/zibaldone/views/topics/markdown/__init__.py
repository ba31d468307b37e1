"""Documents as text: parsed, printed, taken out as a folder."""
