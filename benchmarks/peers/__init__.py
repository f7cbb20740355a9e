"""Programs that the peers' own Python runs, and how to run them."""
