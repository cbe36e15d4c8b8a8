"""Begin with what an earlier model has learned."""

from components.trainer.warm_start.ids import names_of_ids
from components.trainer.warm_start.start import WarmStart
from components.trainer.warm_start.weights import keep_weights, take_weights

__all__ = ["WarmStart", "keep_weights", "names_of_ids", "take_weights"]
