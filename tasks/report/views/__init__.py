"""What the report shows. A view picks a sentence by its id and gives it facts (`wording.sentence.say`).

The words are macros in `templates/sentences/`, one file for a view; views without a file there still hold their own words.
"""
