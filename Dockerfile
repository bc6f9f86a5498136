# An image for `wireanalyze pipeline` on Kubernetes: Spark, Python and this program, for driver and executors.
# docs/how-to/kubernetes.md says how to build and use it.
ARG SPARK=4.3.0

FROM apache/spark:${SPARK} AS spark

FROM python:3.11-slim-bookworm
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps tini \
    && rm -rf /var/lib/apt/lists/*
COPY --from=spark /opt/spark /opt/spark
COPY --from=spark /opt/entrypoint.sh /opt/entrypoint.sh
COPY requirements/pipeline.lock /opt/wireanalyze/
RUN pip install --no-cache-dir --require-hashes -r /opt/wireanalyze/pipeline.lock
COPY pyproject.toml README.md LICENSE /opt/wireanalyze/
COPY share /opt/wireanalyze/share
COPY dissectors /opt/wireanalyze/dissectors
COPY analyzer /opt/wireanalyze/analyzer
COPY tui /opt/wireanalyze/tui
COPY wireanalyze /opt/wireanalyze/wireanalyze
RUN pip install --no-cache-dir --no-deps /opt/wireanalyze
ENV SPARK_HOME=/opt/spark \
    JAVA_HOME=/usr/lib/jvm/java-17-openjdk-amd64 \
    PYSPARK_PYTHON=/usr/local/bin/python3 \
    PYSPARK_DRIVER_PYTHON=/usr/local/bin/python3
WORKDIR /opt/spark/work-dir
USER 185
ENTRYPOINT ["/opt/entrypoint.sh"]
