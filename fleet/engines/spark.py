"""Runs one statement on a Spark that is there already: spark-submit spark.py QUERY RESULT DIR...

The same text as the embedded engine gets. The result is lines of JSON: names, then whether each column holds numbers, then rows.
"""

import datetime
import json
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql.types import NumericType

TABLES = {"cells": True, "events": True, "facts": True, "buckets": False}


def plain(value):
    """As the embedded engine prints it: times in UTC; null stays null, which is not the empty text."""
    if value is None:
        return None
    if isinstance(value, datetime.datetime):
        text = value.strftime("%Y-%m-%dT%H:%M:%S")
        return text + (f".{value.microsecond:06d}".rstrip("0") if value.microsecond else "") + "Z"
    return str(value)


def exists(spark, folder):
    jvm = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(folder)
    return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).exists(path)


def reached(folder):
    """The name by which Hadoop's own client reaches an object store."""
    return "s3a" + folder[2:] if folder.startswith("s3://") else folder


def of_store():
    """Where the object store is, as the other programs of its clients are told; Spark itself passes the credentials on."""
    settings = {
        "endpoint": os.environ.get("AWS_ENDPOINT_URL_S3", os.environ.get("AWS_ENDPOINT_URL")),
        "endpoint.region": os.environ.get("AWS_REGION", os.environ.get("AWS_DEFAULT_REGION", "us-east-1")),
    }
    if settings["endpoint"]:
        settings["path.style.access"] = "true"
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items() if value}


def main(query, result, folders):
    builder = (
        SparkSession.builder.appName("iowhy-fleet")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    )
    folders = [reached(folder) for folder in folders]
    if any(folder.startswith("s3a://") for folder in folders):
        builder = builder.config(map=of_store())
    spark = builder.getOrCreate()
    for table, is_partitioned in TABLES.items():
        parts = [f"{folder}/{table}" for folder in folders]
        frames = [
            spark.read.option("basePath", part).option("pathGlobFilter", "*.parquet").parquet(part)
            for part in parts
            if exists(spark, part)
        ]
        if not frames:
            continue
        frame = frames[0]
        # What buckets are is the same everywhere.
        for more in frames[1:] if is_partitioned else []:
            frame = frame.unionByName(more)
        frame.createOrReplaceTempView(table)
    with open(query, encoding="utf-8") as text:
        answer = spark.sql(text.read())
    fields = answer.schema.fields
    with open(result, "w", encoding="utf-8") as out:
        print(json.dumps([field.name for field in fields]), file=out)
        print(json.dumps([isinstance(field.dataType, NumericType) for field in fields]), file=out)
        for row in answer.toLocalIterator():
            print(json.dumps([plain(value) for value in row]), file=out)
    spark.stop()


main(sys.argv[1], sys.argv[2], sys.argv[3:])
