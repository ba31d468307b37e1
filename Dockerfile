# The server: REST, MCP and the gateway. A memory needs a volume at /memory; see docs/serving.md.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/zibaldone && /opt/zibaldone/bin/pip install --no-cache-dir ".[server,mcp,postgres,s3]"

FROM python:3.13-slim
RUN useradd --uid 10001 --no-create-home zibaldone \
    && mkdir /memory && chown zibaldone /memory
COPY --from=build /opt/zibaldone /opt/zibaldone
ENV PATH=/opt/zibaldone/bin:$PATH ZIBALDONE_MEMORY=/memory PYTHONUNBUFFERED=1
USER zibaldone
VOLUME /memory
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s CMD ["python", "-c", \
    "import urllib.request as u; u.urlopen('http://127.0.0.1:8787/readyz', timeout=2)"]
ENTRYPOINT ["zibaldone"]
CMD ["serve", "--host", "0.0.0.0"]
