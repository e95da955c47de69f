"""The one door for people, one file a verb; verbs hold no logic of their own."""
