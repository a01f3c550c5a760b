# The image of a worker (and, with another entry point, of the launcher): docs/scale.md.
#
#   docker build --tag REGISTRY/onoma:0.1.0 .
#   docker run --rm --user "$(id -u)" --entrypoint python --volume /data:/data REGISTRY/onoma:0.1.0 \
#       -m pipelines.tei_to_ner --input '/data/letters/*.xml' --output /data/build/letters
#
# Launcher and workers must have the same Python, the same Onoma and the same libraries that write
# bytes (pyarrow, icu4py): use one image for both, or give --build-arg CONSTRAINTS a
# file that `pip freeze --exclude onoma` made where the launcher runs, inside this folder.
#
# Python's image is named by the digest of its index (3.11.16, all architectures). For another Python:
# --build-arg PYTHON=3.12 --build-arg DIGEST=@sha256:...; without digest, --build-arg DIGEST=.
# docker buildx imagetools inspect python:3.12-slim says it.
ARG PYTHON=3.11
ARG DIGEST=@sha256:9c900dea9e8fb7e16277c179b555cc72d29a352dbc33cff48ad5a0412fd5bfc7
ARG BEAM=2.77.0

# Beam's own image, for the program that starts workers; nothing else is taken from it.
FROM apache/beam_python${PYTHON}_sdk:${BEAM} AS beam

FROM python:${PYTHON}-slim${DIGEST} AS wheel
ARG PYTHON
# With a digest, Docker does not look at the tag.
RUN python -c "import sys; sys.version.startswith('${PYTHON}.') or sys.exit('DIGEST: of another Python')"
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY onoma onoma
COPY corpora corpora
COPY pipelines pipelines
COPY modeling modeling
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:${PYTHON}-slim${DIGEST}
ARG BEAM
ARG CONSTRAINTS=constraints.txt
ARG EXTRAS=pipelines,tei,news,chinese
ENV LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
COPY ${CONSTRAINTS} /tmp/constraints.txt
RUN --mount=type=bind,from=wheel,source=/wheels,target=/wheels \
    wheel=$(echo /wheels/onoma-*.whl) \
    && pip install --no-cache-dir --constraint /tmp/constraints.txt \
        "${wheel}[${EXTRAS}]" "apache-beam==${BEAM}" \
    && pip check \
    && python -m compileall -q -x site-packages /usr/local/lib/python3.*
COPY --from=beam /opt/apache/beam /opt/apache/beam
# No root, and no name: docker run --user "$(id -u)" makes the files of a volume yours.
ENV HOME=/tmp
USER 10001:10001
WORKDIR /tmp
# Python starts, there is room for files, and a service that ONOMA_SERVE_PORT names says that it is well.
HEALTHCHECK --interval=30s --timeout=20s --start-period=60s CMD ["python", "-c", "import os, tempfile, urllib.request; tempfile.TemporaryFile().write(bytes(4096)); p = os.environ.get('ONOMA_SERVE_PORT'); p and urllib.request.urlopen(f'http://127.0.0.1:{p}/health', timeout=10)"]
ENTRYPOINT ["/opt/apache/beam/boot"]
