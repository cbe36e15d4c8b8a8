"""The names of the steps, for commands that must not import the graph."""

# In the order in which a person thinks of them; the graph allows some to run at the same time.
STEPS = (
    "ExampleGen",
    "StatisticsGen",
    "SchemaGen",
    "ExampleValidator",
    "Transform",
    "Trainer",
    "Evaluator",
    "InfraValidator",
    "Pusher",
)
