"""The names of stages as sentences, for Prefect's interface. A command line and a manifest keep the short names."""

from __future__ import annotations

WHOLE = {
    "ingest": "Read the source and type its columns",
    "classify": "Decide the role of each attribute",
    "control": "Set people aside for the control",
    "mask": "Mask the table",
    "people": "Choose the people who are attacked",
    "train": "Train the model",
    "train rehearsal": "Train a model that is attacked in place of the released one",
    "ask": "Ask the model about people",
    "singling out": "Single people out",
    "singling out (rehearsal)": "Single people out in a rehearsal",
    "reconstruction": "Reconstruct original values",
    "score": "Measure what is disclosed and what is lost",
    "report": "Write the report",
}
BEGINNINGS = {
    "ingest ": "Read {}",
    "attack ": "Attack by {}",
    "membership ": "Infer who is in the release by {}",
    "inference ": "Infer values by {}",
    "shadow models ": "Train shadow models: {}",
    "look ": "Decide after look {}",
}


def describe_stage(name: str) -> str:
    """What the stage of this name does: `attack nearest (declared)` is `Attack by nearest (declared)`."""
    if name in WHOLE:
        return WHOLE[name]
    for beginning, sentence in BEGINNINGS.items():
        if name.startswith(beginning):
            return sentence.replace("{}", name.removeprefix(beginning))
    return f"Compute {name}"
