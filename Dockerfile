# The image of all steps on Kubeflow: Debian 13, its Python, the locked dependencies of the current stack, this code.
#
#   headrace kubeflow image --tag registry.example/headrace:1 --push
#
# tools/image.sh makes the same tree on a host without a container engine.

# A company's own copies of both. What BASE has in /usr/local/share/ca-certificates is trusted, too.
ARG BASE=debian:trixie-slim
ARG UV=ghcr.io/astral-sh/uv:0.9
FROM $UV AS uv

FROM $BASE AS build
# A C++ compiler and Python's headers are for the few dependencies that have no wheel.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates python3 python3-dev g++ \
    && rm -rf /var/lib/apt/lists/*
COPY --from=uv /uv /usr/local/bin/uv
WORKDIR /opt/headrace
ENV UV_PYTHON=/usr/bin/python3 UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_NO_CACHE=1
# uv has authorities of its own, and would know none of a company's.
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
# A company's own index; none is written into the image.
ARG UV_DEFAULT_INDEX=https://pypi.org/simple
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-dev --no-install-project
COPY README.md setup.py ./
COPY pipeline pipeline
COPY components components
COPY serving serving
RUN uv sync --frozen --no-dev --no-editable

FROM $BASE
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates python3 libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home headrace \
    # Where the launcher puts what it fetches, as this user.
    && mkdir /gcs /minio /s3 \
    && chown headrace /gcs /minio /s3
COPY --from=build /opt/headrace/.venv /opt/headrace/.venv
ENV PATH=/opt/headrace/.venv/bin:$PATH PYTHONUNBUFFERED=1 LANG=C.UTF-8
# By number, so that Kubernetes can tell that it is not root.
USER 1000
WORKDIR /home/headrace
CMD ["headrace", "--help"]
