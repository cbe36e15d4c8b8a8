"""The models, in Keras's functional API: a dict of model inputs to float32 logits [batch, units]."""

from components.trainer.models.build import Builder, build
from components.trainer.models.embedding import Embedding
from components.trainer.models.head import output_units
from components.trainer.models.own import builder

__all__ = ["Builder", "Embedding", "build", "builder", "output_units"]
