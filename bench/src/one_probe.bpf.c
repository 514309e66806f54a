// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* The least that a latency histogram takes: one probe, the kernel's own times, powers of two. */
#include "../../crates/live/bpf/kernel.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
const volatile u32 major, minor;

struct request___issued {
	u64 io_start_time_ns;
} KERNEL_FIELDS;

struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 64);
	TYPE(key, u32);
	TYPE(value, u64);
} buckets SEC(".maps");

SEC("tp_btf/block_rq_complete") int complete(u64 *arguments)
{
	struct request *rq = (struct request *)arguments[0];
	struct gendisk *disk = rq->q->disk;
	u64 *bucket, took = ktime_get_ns() - ((struct request___issued *)rq)->io_start_time_ns;
	u32 key = 0;

	if (!disk || disk->major != (s32)major || disk->first_minor != (s32)minor)
		return 0;
	for (u32 step = 32; step; step >>= 1)
		if (took >> step) { took >>= step; key += step; }
	if ((bucket = map_lookup(&buckets, &key)))
		++*bucket;
	return 0;
}
