"""The stories of the gallery in a sentence each, for pages that do not run them."""

STORY_TEXTS = {
    "names-removed": (
        "A hospital publishes records without names, and a voter roll with the same birth "
        "dates and sexes gives the names back."
    ),
    "eight-films": (
        "A viewer mentions eight films to a colleague, who finds the viewer among 20,000 "
        "people without names."
    ),
    "a-resignation": (
        "A company publishes its mean salary before and after one person leaves, and the "
        "two means reveal the salary of that person."
    ),
    "asking-again": (
        "An analyst asks the same question 100 times, and the average of the answers has "
        "hardly any noise left."
    ),
    "only-counts": (
        "An analyst asks for 20,000 counts of random groups, and solves the equations for "
        "the secrets of all 10,000 people."
    ),
    "many-means": (
        "A study publishes 1,000 means of 100 people, which are a little closer to each "
        "participant than to anybody else."
    ),
    "tables-of-genes": (
        "A study publishes the correlations of 30 genes of 50 patients, and an attacker "
        "who knows Alice's genes decides whether she is one of them."
    ),
    "one-rich-patient": (
        "A hospital publishes the mean income of its patients, which reveals whether a "
        "very rich person is one of them."
    ),
    "a-model": (
        "A model is more confident about the people in its training data, so that an "
        "attacker decides whether Alice was one of them."
    ),
    "noise-that-fits": (
        "A system adds only as much noise as one table needs, and the size of the noise "
        "reveals which table it is."
    ),
    "equal-grades": (
        "Everybody in a class has the same grade, which is known whether or not any one "
        "of them takes part."
    ),
}
"""From the name of a story to one sentence for readers who do not know the attack."""
