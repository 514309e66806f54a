// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * What the requests say of themselves: sums of the times the kernel keeps in each, as
 * /proc/diskstats, biolatpcts and others read them. For the comparison in `bench/truth` only; it is
 * compiled there and not shipped.
 */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct request___times {
	u64 start_time_ns;
	u64 io_start_time_ns;
} KERNEL_FIELDS;

const volatile u32 major;
const volatile u32 minor;

/* The bit's place, read from the running kernel (an enumeration since 6.11). */
enum rqf_flags { __RQF_FLUSH_SEQ = 4 };
#define FLUSH_SEQ (1U << __builtin_preserve_enum_value(*(enum rqf_flags *)__RQF_FLUSH_SEQ, 1))

struct sums {
	u64 count;
	u64 no_issue;  /* io_start_time_ns is 0 */
	u64 queue;     /* io_start - start */
	u64 queue_nil; /* how often that is exactly 0 */
	u64 device;    /* now - io_start */
	u64 total;     /* now - start */
};

struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, struct sums);
} fields SEC(".maps");

SEC("tp_btf/block_rq_complete") int complete(u64 *arguments)
{
	struct request *rq = (struct request *)arguments[0];
	struct request___times *times = (struct request___times *)rq;
	struct gendisk *disk = rq->q->disk;
	u32 op = rq->cmd_flags & 0xff;
	struct sums *sums;
	u64 now, start, issue;

	if (!disk || disk->major != (s32)major || disk->first_minor != (s32)minor || op > 1)
		return 0;
	if ((u32)arguments[2] < rq->__data_len || rq->rq_flags & FLUSH_SEQ || !rq->__data_len)
		return 0;
	sums = map_lookup(&fields, &op);
	if (!sums)
		return 0;
	now = ktime_get_ns();
	start = times->start_time_ns;
	issue = times->io_start_time_ns;
	sums->count++;
	sums->total += now - start;
	if (!issue) {
		sums->no_issue++;
		return 0;
	}
	sums->queue += issue - start;
	sums->queue_nil += issue == start;
	sums->device += now - issue;
	return 0;
}
