"""The compiled pipeline run here, as Kubeflow's driver and launcher would run it there."""
