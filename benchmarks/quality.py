"""How good the examples' models are, beside what scikit-learn makes of the same rows.

Usage: .venv/bin/python benchmarks/quality.py PROJECT ...        (taxi, flights, tweets; fashion has no rival)

Takes the last run of each project (`headrace run data/PROJECT`): its Examples and its model. The rival is
trained on the train split alone and both are measured on the test split, with the same functions and the
rows' weights where they have any. Tables meet HistGradientBoostingClassifier, with the columns that the
model sees; texts meet a logistic regression on TF-IDF of words and pairs of words.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

_MOST_CATEGORIES = 250  # HistGradientBoosting takes at most 255
_BATCH = 4096


def last_run(project: Path) -> tuple[Any, str, str]:
    """The Examples artifact's URI, the transform graph's and the model's of the project's last run."""
    from pipeline.config import home_of
    from pipeline.metadata.store import open_store

    store = open_store(home_of(project))
    steps = {step.name: step for step in store.steps(store.find(None).id)}
    return (
        steps["ExampleGen"].outputs["examples"][0],
        steps["Transform"].outputs["transform_graph"][0].uri,
        steps["Trainer"].outputs["model"][0].uri,
    )


def read(uri: str, split: str, types: dict[str, str]) -> tuple[list[bytes], pd.DataFrame]:
    """The serialized examples of a split, and the same as a table; what is missing is NaN or None."""
    import tensorflow as tf

    files = tf.io.gfile.glob(f"{uri}/Split-{split}/*")
    records = list(tf.data.TFRecordDataset(files, "GZIP").as_numpy_iterator())
    kinds = {"integer": tf.int64, "boolean": tf.int64, "float": tf.float32}
    spec = {name: tf.io.VarLenFeature(kinds.get(kind, tf.string)) for name, kind in types.items()}
    parsed = tf.io.parse_example(records, spec)
    table = {}
    for name, values in parsed.items():
        column = np.full(len(records), np.nan if values.dtype != tf.string else None, dtype=object)
        column[values.indices.numpy()[:, 0]] = values.values.numpy()
        table[name] = column
    return records, pd.DataFrame(table)


def served(model_uri: str, records: list[bytes]) -> np.ndarray:
    """The model's probabilities, [rows, classes]."""
    import tensorflow as tf

    model = tf.saved_model.load(f"{model_uri}/Format-Serving")
    answer = model.signatures["serving_default"]
    blocks = [records[start : start + _BATCH] for start in range(0, len(records), _BATCH)]
    return np.concatenate([answer(examples=tf.constant(b))["probabilities"].numpy() for b in blocks])


def columns_for_trees(tables: list[pd.DataFrame], plan: Any) -> list[pd.DataFrame]:
    """Numbers as they are, dates as days and seconds, everything else as categories of the train table."""
    made: list[dict[str, Any]] = [{} for _ in tables]
    for feature in plan.used:
        if feature.type not in plan.types.values() or feature.name not in plan.types:
            continue  # a cross: trees make their own
        if feature.type in ("integer", "float", "boolean"):
            for table, columns in zip(tables, made):
                columns[feature.name] = table[feature.name].astype(float)
        elif feature.type in ("date", "datetime"):
            for table, columns in zip(tables, made):
                moments = pd.to_datetime(table[feature.name].str.decode("utf-8"))
                columns[feature.name] = moments.astype("int64").where(moments.notna())
                columns[f"{feature.name}_month"], columns[f"{feature.name}_weekday"] = (
                    moments.dt.month,
                    moments.dt.weekday,
                )
        else:
            known = tables[0][feature.name].value_counts().index[:_MOST_CATEGORIES]
            for table, columns in zip(tables, made):
                columns[feature.name] = pd.Categorical(table[feature.name], categories=known)
    return [pd.DataFrame(columns) for columns in made]


def rival(tables: list[pd.DataFrame], plan: Any, labels: np.ndarray, weights: Any) -> tuple[str, np.ndarray]:
    """What scikit-learn's model is called, and its probabilities for the second table."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    texts = [feature.name for feature in plan.used if feature.config.kind == "text"]
    if texts:
        written = [
            table[texts[0]].map(lambda text: (text or b"").decode("utf-8", "replace")) for table in tables
        ]
        words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
        model = LogisticRegression(max_iter=300, C=4.0)
        model.fit(words.fit_transform(written[0]), labels, sample_weight=weights)
        return "TF-IDF + logistic regression", model.predict_proba(words.transform(written[1]))
    train, test = columns_for_trees(tables, plan)
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=1)
    model.fit(train, labels, sample_weight=weights)
    return "HistGradientBoosting", model.predict_proba(test)


def measured(probabilities: np.ndarray, labels: np.ndarray, weights: Any) -> dict[str, float]:
    """AUC of two classes; accuracy and macro-F1 of more."""
    from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

    if probabilities.shape[1] == 2:
        return {"AUC": roc_auc_score(labels, probabilities[:, 1], sample_weight=weights)}
    best = probabilities.argmax(1)
    return {
        "accuracy": accuracy_score(labels, best, sample_weight=weights),
        "macro-F1": f1_score(labels, best, average="macro", sample_weight=weights),
    }


def compare(project: Path) -> list[str]:
    """Rows of the table for one project."""
    from components.label import class_name
    from components.transform.plan import FeaturePlan

    examples, graph, model = last_run(project)
    plan = FeaturePlan.load(graph)
    (_, train), (records, test) = (read(examples.uri, split, plan.types) for split in ("train", "test"))
    known = {name: number for number, name in enumerate(plan.label.classes)}

    def ids(table: pd.DataFrame) -> np.ndarray:
        plain = table[plan.label.name].map(
            lambda value: value.decode() if isinstance(value, bytes) else value
        )
        return np.array([known[class_name(plan.label.type, value)] for value in plain])

    weights = [table[plan.weight.column].astype(float) if plan.weight else None for table in (train, test)]
    ours = measured(served(model, records), ids(test), weights[1])
    if any(tensor.image for tensor in plan.inputs):
        return [f"| {project.name} | {name} | {value:.4f} | - | - |" for name, value in ours.items()]
    who, probabilities = rival([train, test], plan, ids(train), weights[0])
    theirs = measured(probabilities, ids(test), weights[1])
    return [f"| {project.name} | {name} | {ours[name]:.4f} | {theirs[name]:.4f} | {who} |" for name in ours]


def main(names: list[str]) -> None:
    print(f"TensorFlow {version('tensorflow')}, scikit-learn {version('scikit-learn')}")
    print("| project | test | headrace | scikit-learn | by |\n|---|---|---|---|---|")
    for name in names:
        for row in compare(Path(__file__).parent.parent / "data" / name):
            print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["taxi", "flights", "tweets"])
