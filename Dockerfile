# docker build -t blog-exporter .
# docker run --rm --user "$(id -u)" -v ~/blog:/archive blog-exporter backup /archive
FROM python:3.13-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY exporter exporter
RUN python -m venv /opt/blog-exporter \
    && /opt/blog-exporter/bin/pip install --no-cache-dir '.[site]'

FROM python:3.13-slim-bookworm
COPY --from=build /opt/blog-exporter /opt/blog-exporter
RUN useradd --uid 1000 --create-home blog \
    && install -d -o blog -g blog -m 0700 /archive
ENV PATH=/opt/blog-exporter/bin:$PATH \
    PYTHONUTF8=1
USER 1000:1000
WORKDIR /archive
VOLUME /archive
HEALTHCHECK NONE
ENTRYPOINT ["blog-exporter"]
CMD ["--help"]
