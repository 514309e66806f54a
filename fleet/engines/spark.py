"""Runs one statement on a Spark that is there already: spark-submit spark.py QUERY RESULT DIR...

The same text as the embedded engine gets. The result is lines of JSON: names, then whether each column holds numbers, then rows.
"""

import datetime
import json
import sys

from pyspark.sql import SparkSession
from pyspark.sql.types import NumericType

TABLES = {"cells": True, "events": True, "facts": True, "buckets": False}


def plain(value):
    """As the embedded engine prints it: times in UTC, nothing where there is none."""
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        text = value.strftime("%Y-%m-%dT%H:%M:%S")
        return text + (f".{value.microsecond:06d}".rstrip("0") if value.microsecond else "") + "Z"
    return str(value)


def exists(spark, folder):
    jvm = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(folder)
    return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).exists(path)


def main(query, result, folders):
    spark = (
        SparkSession.builder.appName("iowhy-fleet")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        .getOrCreate()
    )
    for table in TABLES:
        parts = [f"{folder}/{table}" for folder in folders]
        frames = [
            spark.read.option("basePath", part).option("pathGlobFilter", "*.parquet").parquet(part)
            for part in parts
            if exists(spark, part)
        ]
        if not frames:
            continue
        frame = frames[0]
        for more in frames[1:]:
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
