"""What the report shows. A view picks a sentence by its id and gives it facts (`wording.sentence.say`).

The words are macros in `templates/sentences/`, one file for a view or a subject. A view itself has only labels: heads of
columns, terms of lists.
"""
