"""Run ExampleValidator: hold every split against the schema, train, and the data that passed before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from absl import logging
from tfx.dsl.components.base import base_executor
from tfx.dsl.io import fileio
from tfx.types import artifact_utils

from components.base import say
from components.example_gen.found import Found
from components.example_validator.changes import Checked, column_changes, label_changes, row_changes
from components.example_validator.config import ValidateConfig
from components.example_validator.distribution import features
from components.example_validator.drift import Comparison, Side, compare
from components.example_validator.findings import (
    BEFORE,
    INFERRED,
    LOG,
    REVIEWED,
    TRAIN,
    Finding,
    as_label,
    merged,
)
from components.example_validator.previous import DATA, PREVIOUS_ID, STATISTICS_ID
from components.example_validator.ranges import out_of_range
from components.example_validator.report import Report, into_proto
from components.example_validator.schema_checks import SchemaCheck
from components.example_validator.serving_log import statistics_of
from components.schema_gen.executor import DIFFERENCE
from components.schema_gen.executor import load as load_schema
from components.statistics_gen.files import load, load_splits, path_of

FILE_NAME = "SchemaDiff.pb"


class Executor(base_executor.BaseExecutor):
    """Writes Split-NAME/SchemaDiff.pb and the `blessed` property, as TFX's ExampleValidator does.

    Data that the policies do not let pass ends the step: its artifacts would be taken for those of
    data that did. The report travels in the error.
    """

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        sections = json.loads(exec_properties["config"])
        config = ValidateConfig.model_validate(sections["validate"])
        statistics = artifact_utils.get_single_instance(input_dict["statistics"])
        output = artifact_utils.get_single_instance(output_dict["anomalies"])
        checks = _Checks(input_dict, sections["data"], config)
        report = Report(merged(checks.findings()), config)
        logging.info("%s", report.text())
        if report.failures:
            raise report.error()

        output.split_names, output.span = statistics.split_names, statistics.span
        self._write(output, checks, report)
        output.set_string_custom_property(DATA, statistics.get_string_custom_property("data"))
        output.set_int_custom_property(STATISTICS_ID, statistics.id)
        output.set_int_custom_property(PREVIOUS_ID, checks.before_id)
        say(output, report.summary)

    def _write(self, output: Any, checks: _Checks, report: Report) -> None:
        blessed = {}
        for number, (split, anomalies) in enumerate(checks.anomalies.items()):
            mine = [each for each in report.findings if split in each.splits]
            if number == 0:  # and what is of no split
                mine += [each for each in report.findings if not checks.anomalies.keys() & set(each.splits)]
            for finding in mine:
                into_proto(finding, report.policy(finding), anomalies)
            blessed[split] = 0 if mine else 1
            folder = artifact_utils.get_split_uri([output], split)
            fileio.makedirs(folder)
            with fileio.open(f"{folder}/{FILE_NAME}", "wb") as stream:
                stream.write(anomalies.SerializeToString())
        output.set_json_value_custom_property("blessed", blessed)
        checks.checked.save(output.uri)
        for name, content in {**report.files(), "schema.diff": checks.schema_difference}.items():
            if content:
                with fileio.open(f"{output.uri}/{name}", "w") as stream:
                    stream.write(content)


class _Checks:
    """All checks of one data set.

    Attributes:
      anomalies: split to TFDV's own record, once `findings` has been called.
      checked: what the columns are.
      before_id: of the anomalies of the data before; 0: there is none.
      schema_difference: how the reviewed schema differs from the data; empty: there is none.
    """

    def __init__(self, inputs: dict, data: dict[str, Any], config: ValidateConfig) -> None:
        schema = artifact_utils.get_single_instance(inputs["schema"])
        self._config = config
        self._schema = load_schema(schema)
        self._reviewed = schema.get_string_custom_property("reviewed") == "1"
        self.schema_difference = schema.get_string_custom_property(DIFFERENCE)
        self._found = Found.load(artifact_utils.get_single_instance(inputs["examples"]).uri)
        self._splits = load_splits(artifact_utils.get_single_instance(inputs["statistics"]))
        self.checked = Checked.of(self._found, data)
        self.anomalies: dict[str, Any] = {}
        self._before, self._before_train, self.before_id = _data_before(inputs)

    def findings(self) -> Iterator[Finding]:
        """Everything that was found."""
        label = self._found.label.name
        found = (
            *self._against_schema(),
            *self._between_splits(),
            *self._since_before(),
            *self._as_served(),
        )
        for finding in found:
            yield as_label(finding, label)

    def _against_schema(self) -> Iterator[Finding]:
        for split, statistics in self._splits.items():
            against = REVIEWED if self._reviewed else INFERRED
            check = SchemaCheck(split, statistics, self._schema, self._found, against)
            self.anomalies[split] = check.anomalies
            yield from check.findings()

    def _between_splits(self) -> Iterator[Finding]:
        for split, statistics in self._splits.items():
            if split != TRAIN:
                sides = Side(TRAIN, self._splits[TRAIN]), Side(split, statistics)
                yield from self._compare(Comparison("drift", *sides, against=TRAIN, splits=(split,)))

    def _since_before(self) -> Iterator[Finding]:
        if self._before is None:
            return
        seen = features(self._splits[TRAIN])
        if not self._reviewed:
            yield from column_changes(self._before, self.checked, seen)
            yield from label_changes(self._before.label, self.checked.label)
        yield from row_changes(self._before, self.checked)
        sides = Side("before", self._before_train), Side("now", self._splits[TRAIN])
        yield from self._compare(Comparison("drift", *sides, against=BEFORE, splits=(TRAIN,)))

    def _as_served(self) -> Iterator[Finding]:
        if self._config.serving_log is None:
            return
        served = statistics_of(self._config.serving_log, self._found.types)
        sides = Side(TRAIN, self._splits[TRAIN]), Side("served", served)
        yield from self._compare(Comparison("skew", *sides, against=TRAIN, splits=(LOG,)))

    def _compare(self, comparison: Comparison) -> Iterator[Finding]:
        yield from out_of_range(comparison, self._found.types)
        yield from compare(comparison, self._found, self._config.drift_threshold, self._schema)


def _data_before(inputs: dict) -> tuple[Checked | None, Any, int]:
    """What is known of the data that passed before, its train statistics, and its anomalies' id."""
    anomalies = next(iter(inputs.get("previous_anomalies") or ()), None)
    statistics = next(iter(inputs.get("previous_statistics") or ()), None)
    if anomalies is None or statistics is None:
        return None, None, 0
    checked = Checked.load(anomalies.uri)
    if checked is None or not fileio.exists(path_of(statistics.uri, TRAIN)):
        logging.warning("the files of the data before are gone, so there is no comparison with it")
        return None, None, anomalies.id
    return checked, load(statistics.uri, TRAIN), anomalies.id
