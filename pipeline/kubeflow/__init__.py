"""The same pipeline on Kubeflow Pipelines: compiled, checked and tried out here, run there."""
