"""What a released model is good for. Function: `tasks/score/model_accuracy.py`."""

from __future__ import annotations

from tasks.score.measure import Measure

MODEL_ACCURACY = Measure(
    name="model_accuracy",
    function="tasks.score.model_accuracy.model_accuracy",
    unit="share",
    largest=1,
    better="higher",
    about="table",
    chance="always the most frequent class among them",
    rounding="share",
    says="share of people who did not teach the model whose class it names first, ties counting their share",
    title="Accuracy of the model",
    sentence="Of people who did not teach the model, the share whose class it names first.",
    only_of_model=True,
)
