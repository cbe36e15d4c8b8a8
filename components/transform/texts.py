"""Texts: normalise, split, and look the tokens up."""

from __future__ import annotations

import tensorflow as tf
import tensorflow_transform as tft

from components.transform.columns import as_text, log1p
from components.transform.config import TextFeature
from components.transform.plan import ModelInput, input_name, tokens_name
from components.transform.vocabularies import Vocabulary
from components.transform.vocabularies import size as vocabulary_size

# Everything that is neither a letter, a mark on one, a digit, an apostrophe nor a sign that words begin with.
_PUNCTUATION = r"[^\p{L}\p{M}\p{N}'#@]+"


def text_inputs(name: str, config: TextFeature, graph: tft.TFTransformOutput) -> tuple[ModelInput, ...]:
    """The ids of the first tokens, 0 for padding; and how many tokens there are, as log(1 + n)."""
    size = 1 + vocabulary_size(graph, name) + config.oov
    return (
        ModelInput(name=input_name(name), size=size, length=config.length),
        ModelInput(name=tokens_name(name)),
    )


def tokens(column: tf.SparseTensor, config: TextFeature) -> tf.RaggedTensor:
    """The tokens of each text, [batch, (tokens)]."""
    text = as_text(column, config.impute.constant if config.impute else "")
    if config.lower:
        text = tf.strings.lower(text, encoding="utf-8")
    if not config.punctuation:
        text = tf.strings.regex_replace(text, _PUNCTUATION, " ")
    words = tf.strings.split(text)
    if config.ngrams == 1:
        return words
    return tf.strings.ngrams(words, list(range(1, config.ngrams + 1)))


def vocabulary(column: tf.SparseTensor, config: TextFeature) -> Vocabulary:
    """What the column's vocabulary is made of."""
    return Vocabulary(tokens(column, config).flat_values, config.vocabulary, config.min_count)


def text(name: str, column: tf.SparseTensor, config: TextFeature, path: tf.Tensor) -> dict[str, tf.Tensor]:
    """Ids, int64 [batch, length], and the number of tokens, float32 [batch, 1]."""
    found = tokens(column, config)
    ids = found.with_flat_values(
        1 + tft.apply_vocabulary(found.flat_values, path, num_oov_buckets=config.oov)
    )
    count = log1p(found.row_lengths())
    return {
        input_name(name): ids.to_tensor(tf.constant(0, tf.int64), shape=[None, config.length]),
        tokens_name(name): count[:, None],
    }
