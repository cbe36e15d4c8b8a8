"""Where Kubeflow's launcher puts objects in a pod: s3://bucket/x is the file /s3/bucket/x, and back."""

from __future__ import annotations

_ROOTS = {"gs://": "/gcs/", "minio://": "/minio/", "s3://": "/s3/"}
SCHEMES = tuple(_ROOTS)
FOLDERS = tuple(folder.strip("/") for folder in _ROOTS.values())


def is_object(uri: str) -> bool:
    """Whether the launcher fetches and stores what is at `uri`."""
    return uri.startswith(SCHEMES)


def has_name(uri: str) -> bool:
    """Whether an object's URI names something in its bucket: the launcher fetches no bucket as a whole."""
    return bool(uri.partition("://")[2].strip("/").partition("/")[2])


def to_path(uri: str) -> str:
    """The file or folder that a URI is in a pod; a path stays as it is."""
    for scheme, folder in _ROOTS.items():
        if uri.startswith(scheme):
            return folder + uri[len(scheme) :]
    return uri


def to_uri(path: str) -> str:
    """The URI of a file or folder in a pod; what the launcher does not look after stays as it is."""
    for scheme, folder in _ROOTS.items():
        if path.startswith(folder):
            return scheme + path[len(folder) :]
    return path
