// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Dirty throttling: for how long the kernel pauses a task because too many pages are dirty, and how
 * many the task had dirtied, summed per process and backing device.
 */
#include "callers.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Arguments of balance_dirty_pages: 12, and 8 since the limits are one structure. The last ones are
 * the same: pages dirtied, period, pause, start. */
const volatile u32 many_arguments;

struct task_struct___dirtier {
	struct task_struct___dirtier *group_leader;
	char comm[16];
} KERNEL_FIELDS;

struct backing_dev_info {
	char dev_name[64]; /* 5.7, eb7ae5e06bb6 */
} KERNEL_FIELDS;

struct bdi_writeback {
	struct backing_dev_info *bdi;
} KERNEL_FIELDS;

struct dirtier {
	u32 pid;
	char comm[16];
	char device[20]; /* `8:0`; of a mount without a disk its number, or a name */
};

struct pauses {
	u64 count;
	u64 jiffies;
	u64 longest; /* jiffies */
	u64 pages;   /* dirtied */
};

/* A value per CPU: two tasks of a process may be paused at once. */
struct {
	NUMBER(type, MAP_PERCPU_HASH);
	NUMBER(max_entries, 1024);
	NUMBER(map_flags, NO_PREALLOC);
	TYPE(key, struct dirtier);
	TYPE(value, struct pauses);
} dirtiers SEC(".maps");

static u64 (*current_task)(void) = (void *)35;
static u64 (*jiffies_now)(void) = (void *)118;

INLINE u64 argument(u64 *arguments, u32 of_many)
{
	u64 value;

	if (many_arguments)
		asm volatile("%0 = *(u64 *)(%1 + %2)"
			     : "=r"(value) : "r"(arguments), "i"(8 * of_many));
	else
		asm volatile("%0 = *(u64 *)(%1 + %2)"
			     : "=r"(value) : "r"(arguments), "i"(8 * (of_many - 4)));
	return value;
}

SEC("tp_btf/balance_dirty_pages") int note_pause(u64 *arguments)
{
	struct bdi_writeback *wb = (void *)arguments[0];
	struct pauses *pauses, first = {};
	struct dirtier by = {};
	u64 leader = 0;
	long long pause = argument(arguments, 10);

	by.pid = process();
	if (by.pid == own_pid)
		return 0;
	read_kernel(&leader, sizeof(leader),
		    &((struct task_struct___dirtier *)current_task())->group_leader);
	read_kernel(by.comm, sizeof(by.comm), &((struct task_struct___dirtier *)leader)->comm);
	read_kernel(by.device, sizeof(by.device), &wb->bdi->dev_name);
	by.comm[15] = 0;
	by.device[19] = 0;
	pauses = map_lookup(&dirtiers, &by);
	if (!pauses) {
		map_update(&dirtiers, &by, &first, IF_ABSENT);
		pauses = map_lookup(&dirtiers, &by);
	}
	if (!pauses) {
		miss(NO_GROUP);
		return 0;
	}
	/* The pauses of one call have the same pages. */
	if (argument(arguments, 11) == jiffies_now())
		pauses->pages += argument(arguments, 8);
	if (pause <= 0)
		return 0;
	pauses->count += 1;
	pauses->jiffies += pause;
	if ((u64)pause > pauses->longest)
		pauses->longest = pause;
	return 0;
}
