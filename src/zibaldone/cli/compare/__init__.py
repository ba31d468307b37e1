"""Views, settings and weights compared on a user's own log, with questions of the user's or made from it."""
