"""BEAM: ten kinds of questions to long chats with an assistant; evidence is what the user said."""

from benchmarks.recall import main

if __name__ == "__main__":
    main("beam", __doc__)
