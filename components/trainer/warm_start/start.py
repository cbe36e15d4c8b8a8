"""What `train.warm_start` asks for, done to a model."""

from __future__ import annotations

import keras
import tensorflow_transform as tft

from components.trainer.warm_start.ids import names_of_ids
from components.trainer.warm_start.weights import keep_weights, take_weights
from components.transform.plan import FeaturePlan


class WarmStart:
    """Gives a model its first weights, and leaves its last ones for the models after it.

    Args:
      wanted: off, blessed, or the folder of an exported model.
      blessed: the folder of the blessed one; None: there is none.

    Attributes:
      said: what the model began with, for the step's account; empty when nothing was wanted.
    """

    def __init__(
        self, wanted: str, blessed: str | None, plan: FeaturePlan, transform: tft.TFTransformOutput
    ) -> None:
        self._wanted, self._from = wanted, blessed if wanted == "blessed" else wanted
        self._label, self._ids = plan.label, names_of_ids(plan, transform)
        self._paths: list[str] = []
        self.said = ""

    def begin(self, model: keras.Model) -> None:
        """Gives a model that has just been built what it begins with.

        Raises:
          UserError: the weights are not there, or they are of another question.
        """
        # Layers without a name have another in each model made; what is kept goes by those of this one.
        self._paths = [variable.path for variable in model.weights]
        if self._wanted == "off":
            return
        if self._from is None:
            self.said = (
                "; began with random weights: there is no blessed model that was trained on other data"
            )
            return
        self.said = f"; {take_weights(model, self._ids, self._label, self._from)}"

    def keep(self, model: keras.Model, folder: str) -> None:
        """Leaves the weights of the model that is served beside its export."""
        weights = dict(zip(self._paths, model.get_weights(), strict=True))
        keep_weights(weights, self._ids, self._label, folder)
