// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Uninterruptible sleep: from the switch away from a task in this state to the switch back to it,
 * summed per process, kernel stack and whether it is accounted as a wait for I/O.
 */
#include "callers.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile u32 state_argument; /* sched_switch hands over the state (5.18, 9c2136be0878) */

/* include/linux/sched.h */
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_NOLOAD 0x400 /* with it: an idle worker, state I */

struct task_struct___waiter {
	s32 pid;
	s32 tgid;
	s32 on_rq;
	u32 __state;
	u32 in_iowait : 1;
	struct task_struct___waiter *group_leader;
	char comm[16];
} KERNEL_FIELDS;

/* Before 5.14 (2f064a59a11f). */
struct task_struct___old {
	long state;
} KERNEL_FIELDS;

/* clang's questions to the loader about a bit field (BPF_FIELD_* of the LLVM manual). */
#define BYTE_OFFSET(field) __builtin_preserve_field_info(field, 0)
#define BYTE_SIZE(field) __builtin_preserve_field_info(field, 1)
#define SHIFT_LEFT(field) __builtin_preserve_field_info(field, 4)
#define SHIFT_RIGHT(field) __builtin_preserve_field_info(field, 5)

struct wait {
	u32 pid;
	s32 stack; /* negative: none could be kept */
	u32 for_io;
	char comm[16];
};

struct begun {
	u64 at;
	struct wait of;
};

/* Tasks that wait now, by thread. Nothing may be allocated inside the scheduler. */
struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 16384);
	TYPE(key, u32);
	TYPE(value, struct begun);
} waiting SEC(".maps");

struct waited {
	u64 count;
	u64 sum;
	u64 max;
};

/* What ended; a value per CPU, so that the longest of two that end at once is not lost. */
struct {
	NUMBER(type, MAP_PERCPU_HASH);
	NUMBER(max_entries, 8192);
	TYPE(key, struct wait);
	TYPE(value, struct waited);
} waits SEC(".maps");

struct stack {
	u64 frames[64];
};

struct {
	NUMBER(type, MAP_STACK_TRACE);
	NUMBER(max_entries, 8192);
	TYPE(key, u32);
	TYPE(value, struct stack);
} traces SEC(".maps");

/* Stacks of tasks that waited already when the watch began, by thread. Their numbers begin here. */
#define EARLIER (1 << 30)

struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 1024);
	TYPE(key, u32);
	TYPE(value, struct stack);
} earlier SEC(".maps");

/* Too large for a program's stack. */
struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct stack);
} scratch SEC(".maps");

static long (*get_task_stack)(void *task, void *frames, u32 size, u64 flags) = (void *)141;

INLINE u32 state_of(struct task_struct___waiter *task)
{
	if (FIELD_EXISTS(task->__state))
		return task->__state;
	return ((struct task_struct___old *)task)->state;
}

INLINE int is_uninterruptible(u32 state)
{
	return (state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == TASK_UNINTERRUPTIBLE;
}

INLINE u32 waits_for_io(struct task_struct___waiter *task)
{
	u64 bits = 0;

	read_kernel(&bits, BYTE_SIZE(task->in_iowait),
		    (void *)task + BYTE_OFFSET(task->in_iowait));
	bits <<= SHIFT_LEFT(task->in_iowait);
	return bits >> SHIFT_RIGHT(task->in_iowait);
}

/* What a task waits for but its stack; 0 if it is not to be watched. */
INLINE int wanted(struct wait *of, struct task_struct___waiter *task, u32 pid)
{
	if (!is_wanted_pid(pid))
		return 0;
	/* Threads may have names of their own, the program has its first one's. */
	read_kernel(of->comm, sizeof(of->comm), &task->group_leader->comm);
	of->comm[15] = 0;
	of->pid = pid;
	of->for_io = waits_for_io(task);
	return is_wanted_name(of->comm);
}

INLINE void begin(u64 *arguments, struct task_struct___waiter *task)
{
	struct begun begun = {};
	u32 thread = task->pid;

	if (!wanted(&begun.of, task, process()))
		return;
	begun.of.stack = get_stack(arguments, &traces, 0);
	begun.at = ktime_get_ns();
	if (map_update(&waiting, &thread, &begun, 0))
		miss(NO_START_KEPT);
}

INLINE void end(u32 thread)
{
	struct begun *begun = map_lookup(&waiting, &thread);
	struct waited *waited, first = {};
	u64 took;

	if (!begun)
		return;
	took = ktime_get_ns() - begun->at;
	waited = map_lookup(&waits, &begun->of);
	if (!waited) {
		map_update(&waits, &begun->of, &first, IF_ABSENT);
		waited = map_lookup(&waits, &begun->of);
	}
	if (waited) {
		waited->count += 1;
		waited->sum += took;
		if (took > waited->max)
			waited->max = took;
	} else {
		miss(NO_GROUP);
	}
	map_delete(&waiting, &thread);
}

/* The running task is still the one that is left: its number, name and stack are those of the
 * caller. */
SEC("tp_btf/sched_switch") int change_task(u64 *arguments)
{
	struct task_struct___waiter *left = (void *)arguments[1], *next = (void *)arguments[2];
	u32 state = state_argument ? arguments[3] : state_of(left);

	if (!arguments[0] && is_uninterruptible(state))
		begin(arguments, left);
	end(next->pid);
	return 0;
}

/* Off its CPU and in no queue for one: it may be in this state and still on its way. */
INLINE int is_waiting(struct task_struct___waiter *task)
{
	return is_uninterruptible(state_of(task)) && !task->on_rq;
}

/* Shown each task once when the watch has begun, in the first namespace of processes only. */
SEC("iter/task") int look_at_task(u64 *arguments)
{
	struct task_struct___waiter *task = (void *)arguments[1];
	struct begun begun = {};
	struct stack *stack;
	u32 first = 0, thread;

	if (!task || !is_waiting(task) || !wanted(&begun.of, task, task->tgid))
		return 0;
	thread = task->pid;
	stack = map_lookup(&scratch, &first);
	begun.of.stack = -1;
	if (stack) {
		long bytes = get_task_stack(task, stack->frames, sizeof(stack->frames), 0);

		if (bytes > 0 && bytes < (long)sizeof(stack->frames))
			stack->frames[(bytes / sizeof(u64)) & 63] = 0;
		if (bytes > 0 && !map_update(&earlier, &thread, stack, 0))
			begun.of.stack = EARLIER + thread;
	}
	begun.at = ktime_get_ns();
	if (map_update(&waiting, &thread, &begun, IF_ABSENT))
		return 0;
	/* It may have gone on before that was kept, and nobody would have ended it. */
	if (!is_waiting(task))
		map_delete(&waiting, &thread);
	return 0;
}
