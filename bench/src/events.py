"""Writes single I/Os as `iowhy export --parquet` does: events.py FOLDER MILLIONS.

Eight hosts with four disks each for an hour: two kinds of latency, and on every third host a disk that is three times slower.
The same words give the same rows. Needs numpy and pyarrow.
"""

import pathlib
import sys

import numpy
import pyarrow
import pyarrow.parquet

HOSTS, DEVICES, HOUR_US = 8, ["sda", "sdb", "sdc", "sdd"], 3_600_000_000
BEGIN_US, DAY = 1_763_895_600_000_000, "2025-11-23"
GROUP = 262_144


def bucket_of(ns):
    """The index of a latency in the table `buckets`: eight equal parts of each power of two of a microsecond."""
    units = ns // 125
    octave = numpy.frexp(numpy.maximum(units, 8))[1] - 4
    return (octave * 8 + (units >> octave)).astype("int32")


def events(chance, device, rows, slow):
    time = BEGIN_US + numpy.sort(chance.integers(0, HOUR_US, rows))
    quick = chance.lognormal(numpy.log(120_000), 0.3, rows)
    far = chance.lognormal(numpy.log(6_000_000), 0.5, rows)
    d2c = (numpy.where(chance.random(rows) < 0.7, quick, far) * (3 if slow else 1)).astype("int64")
    q2d = chance.exponential(20_000, rows).astype("int64")
    reads = chance.random(rows) < 0.6
    text = lambda values: pyarrow.array(values).dictionary_encode()
    none = lambda kind: pyarrow.nulls(rows, kind)
    return pyarrow.table({
        "time": pyarrow.array(time, pyarrow.timestamp("us", "UTC")),
        "second": pyarrow.array(time // 1_000_000 * 1_000_000, pyarrow.timestamp("us", "UTC")),
        "device": text([device] * rows),
        "op": text(numpy.where(reads, "read", "write")),
        "flags": text(numpy.where(reads, "R", "WS")),
        "sector": pyarrow.array(chance.integers(0, 1 << 32, rows)),
        "bytes": pyarrow.array(4096 << chance.integers(0, 5, rows)),
        "b2q": none(pyarrow.int64()),
        "q2d": pyarrow.array(q2d),
        "d2c": pyarrow.array(d2c),
        "q2c": pyarrow.array(q2d + d2c),
        "bucket": pyarrow.array(bucket_of(d2c)),
        "in_flight": pyarrow.array(chance.integers(1, 33, rows), pyarrow.int32()),
        "error": none(pyarrow.int32()),
        "process": text(numpy.array(["postgres", "dd", "jbd2/sda1-8"])[chance.integers(0, 3, rows)]),
        "pid": pyarrow.array(chance.integers(1000, 1003, rows), pyarrow.int32()),
        "cgroup": none(pyarrow.string()),
        "file": none(pyarrow.string()),
        "weight": pyarrow.array(numpy.ones(rows)),
    })


def buckets():
    """Their edges; of the last one, which is open, the largest number that there is."""
    low = [125 * step for step in range(8)] + [(125 << octave) * step for octave in range(27) for step in range(8, 16)]
    low.append(125 * 8 << 27)
    return pyarrow.table({
        "bucket": pyarrow.array(range(len(low)), pyarrow.int32()),
        "low_ns": pyarrow.array(low),
        "high_ns": pyarrow.array(low[1:] + [(1 << 63) - 1]),
    })


def write(path, table, name):
    """A file as the program writes it: texts by dictionary, whole numbers by their differences."""
    path.parent.mkdir(parents=True)
    texts = [field.name for field in table.schema if pyarrow.types.is_dictionary(field.type)]
    whole = [field.name for field in table.schema if not pyarrow.types.is_floating(field.type)]
    encoding = {column: "DELTA_BINARY_PACKED" for column in whole if column not in [*texts, "cgroup", "file"]}
    with pyarrow.parquet.ParquetWriter(
        path, table.schema, compression="zstd", use_dictionary=texts, column_encoding=encoding, store_schema=False
    ) as file:
        file.write_table(table, row_group_size=GROUP)
        file.add_key_value_metadata({"iowhy.schema": "2", "iowhy.table": name})


def main(folder, millions):
    rows = millions * 1_000_000 // (HOSTS * len(DEVICES))
    for host in range(HOSTS):
        chance = numpy.random.default_rng(host)
        parts = [
            events(chance, device, rows, device == "sdb" and host % 3 == 0) for device in DEVICES
        ]
        table = pyarrow.concat_tables(parts).unify_dictionaries().sort_by("time")
        into = pathlib.Path(folder) / "events" / f"host=h{host}" / f"date={DAY}"
        write(into / "made.parquet", table, "events")
    write(pathlib.Path(folder) / "buckets" / "buckets.parquet", buckets(), "buckets")


main(sys.argv[1], int(sys.argv[2]))
