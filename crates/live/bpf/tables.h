/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The tracer's options and maps: devices, tallies,
 * histograms, slots of requests in flight.
 */
#ifndef IOWHY_TABLES_H
#define IOWHY_TABLES_H

#include "kernel.h"
#include "edges.h"

/* Handed in before loading; the verifier then drops the branches that cannot be taken. */
const volatile u32 events;         /* send one record per request */
const volatile u32 histograms;     /* count into histograms */
const volatile u32 unsent_only;    /* of these, only requests whose record was not sent */
const volatile u32 thinned;        /* of a busy device, records of slow requests and of a sample only */
const volatile u64 over_ns;        /* only latencies above this; with records, only they */
const volatile u32 ops_wanted;     /* a bit per operation */
const volatile u32 every_device;   /* also those not in the table */
const volatile u32 rq_argument;    /* 1 where the probes still get the queue first */
const volatile u32 start_in_rq;    /* request.start_time_ns is a true clock reading */
const volatile u32 has_rq_disk;    /* request.rq_disk exists */
const volatile u32 io_stat_flag;   /* RQF_IO_STAT */
const volatile u32 flush_seq_flag; /* RQF_FLUSH_SEQ */
const volatile u32 asks_flush;     /* REQ_PREFLUSH and REQ_FUA, where records are sent */
const volatile u32 task_known;     /* bpf_get_current_task_btf is there (5.11) */
const volatile u32 by_turns;       /* one probe, and at times the exact tracer instead */
const volatile u32 plug_clock;     /* the kernel reads its clock once for a plug, see `kernel_reads_clock` */
const volatile u32 never_nested;   /* a probe is never run inside itself */
const volatile u32 set_shift = 54; /* 64 less log2 of the number of slot sets */
const volatile u32 place_shift = 26; /* 32 less log2 of the places in the device table */
const volatile u32 cells = 1;      /* a power of two: numbers per device for what is in flight */
const volatile u32 own_cells;      /* each CPU has its own, and no probe is run inside itself */
const volatile u32 rows = 1;       /* devices with tallies */
const volatile u32 histogram_rows = 1; /* this many of them have histograms */
const volatile u32 stages = 3;     /* stages with histograms: 4 with the time before the request */
const volatile u32 before;         /* remember when bios arrive */
const volatile u32 arrival_shift;  /* 64 less log2 of the places for arrivals */
const volatile u32 bio_argument;   /* block_bio_queue still gets the queue first */
const volatile u32 has_bi_disk;    /* bio.bi_disk exists */
const volatile u32 cgroups;        /* note the control group */
const volatile u32 files;          /* note the file of the pages */
const volatile u32 stacks;         /* note the stacks of the task that sends */
const volatile u32 places;         /* note the CPU of the completion, and the hardware queue */

/* Filters: what fails one is tallied and nothing else. */
const volatile u32 filtering;         /* there are some of requests: of the next six */
const volatile u32 bytes_low;
const volatile u32 bytes_high = 0xffffffff;
const volatile u32 flags_set;      /* bits of cmd_flags that must be set */
const volatile u32 flags_clear;    /* and those that must not */
const volatile u64 sector_first;
const volatile u64 sector_last = ~0ULL;
const volatile u32 by_who;         /* one of the next three is set */
const volatile u32 pid_wanted;
const volatile u64 comm_wanted[2]; /* a name, padded with zeroes; its first byte 0: any */
const volatile u64 cgroup_wanted;

/* ---- operations, as /proc/diskstats groups them ---- */

enum op { READ, WRITE, DISCARD, FLUSH, OTHER, OPS };

/* include/linux/blk_types.h, enum req_op: 0 to 9 have kept their meaning since 4.10, except 7
 * (write same, then zone append): a write either way. */
INLINE u32 op_of(u32 cmd_flags)
{
	if (LIKELY(!(cmd_flags & 0xfe)))
		return cmd_flags & 1;
	switch (cmd_flags & 0xff) {
	case 5: case 7: case 9: return WRITE;
	case 2: return FLUSH;
	case 3: return DISCARD;
	default: return OTHER;
	}
}

/* ---- devices ---- */

#define NO_ROW 0xffffffff
#define PROBES 8 /* places tried for a device; the Rust side tries as many when it fills them */

struct device {
	u32 number; /* major << 20 | minor, plus one so that zero is an empty place */
	u32 row;
	u32 without_requests; /* handles bios as they are: dm, md, zram */
	u32 keeps_starts;     /* its requests were seen to have a start_time_ns (queue/iostats) */
};

struct disk_name {
	u64 letters[4];
};

struct {
	NUMBER(type, MAP_ARRAY);
	NUMBER(max_entries, 64);
	TYPE(key, u32);
	TYPE(value, struct device);
} devices SEC(".maps");

/* Names of disks that are not in that table, by their numbers: paths of NVMe multipath are hidden, and /sys gives
 * them no number. */
struct {
	NUMBER(type, MAP_LRU_HASH);
	NUMBER(max_entries, 256);
	TYPE(key, u32);
	TYPE(value, struct disk_name);
} names SEC(".maps");

INLINE void note_name(struct gendisk *disk, u32 number)
{
	u64 *letters = (u64 *)&disk->disk_name;
	struct disk_name name;

	if (map_lookup(&names, &number))
		return;
	for (u32 word = 0; word < 4; word++)
		name.letters[word] = letters[word];
	map_update(&names, &number, &name, 0);
}

INLINE u32 number_of(struct gendisk *disk)
{
	if (!disk)
		return 0;
	return ((u32)disk->major << 20 | (u32)disk->first_minor) + 1;
}

INLINE struct gendisk *disk_of(struct request *rq)
{
	if (has_rq_disk)
		return ((struct request___with_disk *)rq)->rq_disk;
	return rq->q->disk;
}

INLINE u32 device_number(struct request *rq)
{
	return number_of(disk_of(rq));
}

INLINE u32 device_of_bio(struct bio *bio)
{
	struct block_device *device;

	if (has_bi_disk)
		return number_of(((struct bio___with_disk *)bio)->bi_disk);
	device = bio->bi_bdev;
	return device ? number_of(device->bd_disk) : 0;
}

/* The device's entry, or NULL if it is not in the table; `*at` is its place. */
INLINE struct device *find_device(u32 number, u32 *at)
{
	*at = (number * 0x9e3779b1U) >> place_shift;
#pragma clang loop unroll(disable)
	for (u32 probe = 0; probe < PROBES; probe++) {
		struct device *device = map_lookup(&devices, at);

		if (!device)
			return 0;
		if (LIKELY(device->number == number))
			return device;
		if (!device->number)
			return 0;
		*at = (*at + 1) & (0xffffffff >> place_shift);
	}
	return 0;
}

/* Adds to a number of this CPU. Since 6.1 (05b24ff9b2cf) the kernel never runs a probe inside
 * itself; before, an interrupt could count in the middle of our counting. */
INLINE void add(u64 *sum, u64 more)
{
	if (never_nested)
		*sum += more;
	else
		__sync_fetch_and_add(sum, more);
}

/* ---- tallies: per CPU, one row per device and operation, one more row for unknown devices ---- */

/* Each is counted by one probe only, per operation. */
enum tally {
	MEASURED,      /* completed, and its start or its issue was seen */
	NO_START,      /* completed, but neither was seen */
	NO_TOTAL,      /* of MEASURED: issue seen, start not, so it has D2C but no Q2C */
	TOO_FAST,      /* of MEASURED: no record, not above the latency asked for */
	RING_FULL,     /* of MEASURED: no room for its record */
	NO_ROW_LEFT,   /* of MEASURED: no histogram, its device has no row */
	NOT_ACCOUNTED, /* of all completed: the kernel does not count it (iostats off, passthrough) */
	FAILED,        /* of all completed: with an error */
	NO_COMPLETION, /* its address was used again before its completion was seen */
	NO_SLOT,       /* issued while its set of slots was full; it ends up in NO_START */
	REQUEUED,      /* times the driver gave a request back */
	FILTERED,      /* completed, but of a size, flags or process nobody asked for */
	NO_SENDER,     /* completed, start not seen: nobody knows whether its sender was asked for */
	LEFT_OUT,      /* of MEASURED: no record, neither slow nor in the sample */
	REQUEST_COUNTS
};

struct tallies {
	u64 n[REQUEST_COUNTS];
};

struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, OPS);
	TYPE(key, u32);
	TYPE(value, struct tallies);
} tallied SEC(".maps");

INLINE void tally_more(u32 row, u32 op, enum tally what, u64 more)
{
	u32 key = (row < rows ? row : rows) * OPS + op;
	struct tallies *tallies = map_lookup(&tallied, &key);

	if (tallies)
		add(&tallies->n[what], more);
}

INLINE void tally(u32 row, u32 op, enum tally what)
{
	tally_more(row, op, what, 1);
}

/* ---- histograms: per CPU, two banks in turn ---- */

enum stage { QUEUE, DEVICE, TOTAL, BEFORE };

struct histogram {
	u64 sum;
	u64 min;
	u64 max;
	u64 epoch; /* the stretch of time min and max belong to */
	u64 counts[BUCKETS];
};

struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 2 * OPS * 3);
	TYPE(key, u32);
	TYPE(value, struct histogram);
} counted SEC(".maps");

/* The running stretch of time; 0 while the watch is off, so that all probes begin and end at one
 * moment although they are attached one after another. Beside it the time of the last poll: about now.
 * Counts and sums only grow, and are never written from outside. The reader starts a new stretch
 * by raising the epoch; the bank of the old one is then left alone and can be read at rest. */
struct epoch {
	u64 number;
	u64 about;
	u64 exact_since; /* 0: where both take turns, it is not that of the exact tracer */
};

struct {
	NUMBER(type, MAP_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct epoch);
} epochs SEC(".maps");

INLINE void count(u32 row, u32 op, enum stage stage, u64 epoch, u64 ns)
{
	u32 key = (((u32)(epoch & 1) * histogram_rows + row) * OPS + op) * stages + stage;
	struct histogram *histogram = map_lookup(&counted, &key);
	u64 place = bucket(ns);

	/* The compiler knows that `place` is below BUCKETS; the verifier must see it checked. */
	asm volatile("" : "+r"(place));
	if (!histogram || place >= BUCKETS)
		return;
	if (histogram->epoch != epoch) {
		histogram->min = ns;
		histogram->max = ns;
		histogram->epoch = epoch;
	}
	add(&histogram->counts[place], 1);
	add(&histogram->sum, ns);
	if (ns < histogram->min)
		histogram->min = ns;
	if (ns > histogram->max)
		histogram->max = ns;
}

#endif
