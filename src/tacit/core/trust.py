"""Who sees exact values before noise is added."""

from enum import Enum


class TrustModel(Enum):
    """Where noise is added, and so whom a person has to trust."""

    CENTRAL = "a curator holds the rows and adds noise to what leaves"
    LOCAL = "each person adds noise before anything leaves their hands"
    SHUFFLE = "each person adds some noise, and a shuffler forgets who sent what"
