// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Sleep: from the switch away from a task in one of the watched states to the switch back to it,
 * summed per process, state, stack, whether it is accounted as a wait for I/O, and what ended it.
 *
 * What ends a wait is a wake-up. Where it is called from the completion of a block request, on the
 * same CPU and before that request is free again, that request ended the wait.
 */
#include "callers.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile u32 state_argument; /* sched_switch hands over the state (5.18, 9c2136be0878) */
const volatile u32 rq_argument;    /* block_rq_issue: 1 where the queue comes first (before 5.11) */
const volatile u32 has_rq_disk;    /* request.rq_disk exists */
const volatile u32 flush_seq_flag; /* RQF_FLUSH_SEQ */
const volatile u64 stack_bytes;    /* THREAD_SIZE */

/* Handed in before loading. */
const volatile u32 watched_states; /* TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE, or both */
const volatile u32 with_user_stacks;

/* include/linux/sched.h */
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_NOLOAD 0x400 /* with it: an idle worker, state I */

struct task_struct___waiter {
	s32 pid;
	s32 tgid;
	s32 on_rq;
	u32 __state;
	u32 in_iowait : 1;
	u32 flags;
	void *stack;
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

/* What ended a wait. */
enum ended_by {
	NOT_SEEN,
	BY_REQUEST,   /* a wake-up within the completion of a block request */
	BY_INTERRUPT, /* one within an interrupt, but within no such completion */
	BY_TASK,      /* one by a running task */
};

struct wait {
	u32 pid;
	s32 stack; /* negative: none could be kept */
	s32 user;  /* the same of the program's own functions */
	u32 state;
	u32 for_io;
	char comm[16];
	u32 ended_by;
	u32 number;     /* BY_REQUEST: of its device, and its operation; BY_TASK: the address */
	u32 op;         /* at which it entered the kernel, low and high half */
	char waker[16]; /* BY_TASK: of which program */
};

struct begun {
	u64 at;
	u64 woken; /* 0: not seen */
	u64 d2c;   /* BY_REQUEST; 0: not known */
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
	u64 late;    /* of the sum: from the wake-up until it ran */
	u64 d2c;     /* of the requests that ended them */
	u64 d2c_max;
	u64 with_d2c;
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

static u64 (*current_task)(void) = (void *)35;
static long (*read_stack)(void *arguments, void *frames, u32 size, u64 flags) = (void *)67;
static long (*get_task_stack)(void *task, void *frames, u32 size, u64 flags) = (void *)141;

INLINE u32 state_of(struct task_struct___waiter *task)
{
	if (FIELD_EXISTS(task->__state))
		return task->__state;
	return ((struct task_struct___old *)task)->state;
}

/* In which of the watched states a task sleeps; 0: in none. */
INLINE u32 sleeps_in(u32 state)
{
	if ((state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == TASK_UNINTERRUPTIBLE)
		return watched_states & TASK_UNINTERRUPTIBLE;
	return watched_states & state & TASK_INTERRUPTIBLE;
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

INLINE void begin(u64 *arguments, struct task_struct___waiter *task, u32 state)
{
	struct begun begun = {};
	u32 thread = task->pid;

	if (!wanted(&begun.of, task, process()))
		return;
	begun.of.state = state;
	begun.of.stack = get_stack(arguments, &traces, 0);
	begun.of.user = with_user_stacks ? get_stack(arguments, &traces, OF_USER) : -1;
	begun.at = ktime_get_ns();
	if (map_update(&waiting, &thread, &begun, 0))
		miss(NO_START_KEPT);
}

INLINE void end(u32 thread)
{
	struct begun *begun = map_lookup(&waiting, &thread);
	struct waited *waited, first = {};
	u64 now, took, d2c;

	if (!begun)
		return;
	now = ktime_get_ns();
	took = now - begun->at;
	d2c = begun->d2c;
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
		if (begun->woken)
			waited->late += now - begun->woken;
		waited->d2c += d2c;
		waited->with_d2c += d2c > 0;
		if (d2c > waited->d2c_max)
			waited->d2c_max = d2c;
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
	u32 state = sleeps_in(state_argument ? arguments[3] : state_of(left));

	if (!arguments[0] && state)
		begin(arguments, left, state);
	end(next->pid);
	return 0;
}

/* ---- requests, and which wake-ups they cause ---- */

/* include/linux/blk-mq.h */
enum mq_rq_state { MQ_RQ_IDLE };
/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000
/* A completion takes microseconds; one of a large request wakes whoever waits for one of its pages. */
#define COMPLETES_WITHIN 1000000ULL /* ns */
/* Nested completions: a device over a device, a flush and the request that needs it. */
#define NESTED 4

enum op { READ, WRITE, DISCARD, FLUSH, OTHER };

struct blk_mq_hw_ctx;
struct request___state {
	struct blk_mq_hw_ctx *mq_hctx; /* NULL: it is free */
	enum mq_rq_state state;
	u64 start_time_ns;
} KERNEL_FIELDS;

/* When requests were issued, in sets by their addresses. Nothing is locked: where two take the same
 * place at once, both were issued at that moment. One that is pushed out has no device time. */
#define WAYS 4
#define SET_BITS 12

struct issue {
	u64 id;
	u64 at;
};

struct issues {
	struct issue of[WAYS];
};

struct {
	NUMBER(type, MAP_ARRAY);
	NUMBER(max_entries, 1 << SET_BITS);
	TYPE(key, u32);
	TYPE(value, struct issues);
} issued SEC(".maps");

static u64 anchor;

/* A request's address as a number: to the verifier the difference of two pointers is one. */
INLINE u64 identity(u64 rq)
{
	u64 base = (u64)&anchor;

	asm volatile("%0 -= %1" : "+r"(rq) : "r"(base));
	return rq;
}

INLINE struct issues *issues_of(u64 id)
{
	u32 set = (id >> 6) * 0x9e3779b97f4a7c15ULL >> (64 - SET_BITS);

	return map_lookup(&issued, &set);
}

struct completion {
	u64 rq;
	u64 start; /* as the request had it, which changes when it is used again */
	u64 state;
	u64 at;
	u64 task; /* that runs on this CPU, perhaps only interrupted */
	u64 in_interrupt;
	u64 d2c; /* 0: not known */
	u32 number;
	u32 op;
};

struct completions {
	u64 count;
	u64 place; /* of the arguments of a program, on the kernel's stack */
	struct completion last[NESTED];
};

/* The last completions on this CPU. */
struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct completions);
} completions SEC(".maps");

/* Any pointer may be wrong by the time it is followed: the helper then reads zeroes. */
#define FOLLOW(to, pointer, field) read_kernel(&(to), sizeof(to), &(pointer)->field)

/* Whether an interrupt runs: they have stacks of their own. On x86-64 those that come while a program
 * runs do not (call_on_irqstack_cond of arch/x86/include/asm/irq_stack.h). */
INLINE u64 in_interrupt(struct completions *here, u64 *arguments, u64 task)
{
	u64 stack = 0;

	/* A pointer becomes a number on its way through memory. */
	here->place = (u64)arguments;
	asm volatile("" ::: "memory");
	FOLLOW(stack, (struct task_struct___waiter *)task, stack);
	return here->place - stack >= stack_bytes;
}

INLINE u32 op_of(struct request *rq)
{
	u32 op = rq->cmd_flags & 0xff;

	switch (op) {
	case 0: return READ;
	case 2: return FLUSH;
	case 3: return DISCARD;
	case 1: case 5: case 7: case 9: return WRITE;
	default: return OTHER;
	}
}

INLINE u32 number_of_disk(struct request *rq)
{
	struct gendisk *disk;

	if (has_rq_disk)
		disk = ((struct request___with_disk *)rq)->rq_disk;
	else
		disk = rq->q->disk;
	return disk ? ((u32)disk->major << 20 | (u32)disk->first_minor) + 1 : 0;
}

SEC("tp_btf/block_rq_issue") int note_issue(u64 *arguments)
{
	u64 id, now = ktime_get_ns();
	struct issues *issues;
	struct issue *place;

	if (rq_argument)
		asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(id) : "r"(arguments));
	else
		asm volatile("%0 = *(u64 *)(%1 + 0)" : "=r"(id) : "r"(arguments));
	id = identity(id);
	issues = issues_of(id);
	if (!issues)
		return 0;
	place = &issues->of[now & (WAYS - 1)];
#pragma unroll
	for (u32 way = 0; way < WAYS; way++)
		if (!issues->of[way].id)
			place = &issues->of[way];
#pragma unroll
	for (u32 way = 0; way < WAYS; way++)
		if (issues->of[way].id == id)
			place = &issues->of[way];
	place->id = id;
	place->at = now;
	return 0;
}

SEC("tp_btf/block_rq_complete") int note_completion(u64 *arguments)
{
	struct request *rq = (struct request *)arguments[0];
	u64 id = identity((u64)rq), now = ktime_get_ns();
	struct issue *issue = 0;
	struct issues *issues;
	struct completions *here;
	struct completion *is, *before;
	u32 first = 0;

	/* Its data are written, and it completes only after the flush. The kernel's own flush has
	 * that flag as well. */
	if (rq->rq_flags & flush_seq_flag && op_of(rq) != FLUSH)
		return 0;
	here = map_lookup(&completions, &first);
	if (!here)
		return 0;
	before = &here->last[(here->count - 1) & (NESTED - 1)];
	is = &here->last[here->count & (NESTED - 1)];
	here->count += 1;
	is->rq = (u64)rq;
	is->start = ((struct request___state *)rq)->start_time_ns;
	is->state = ((struct request___state *)rq)->state;
	is->at = now;
	is->task = current_task();
	is->in_interrupt = in_interrupt(here, arguments, is->task);
	is->number = number_of_disk(rq);
	is->op = op_of(rq);
	is->d2c = 0;
	issues = issues_of(id);
#pragma unroll
	for (u32 way = 0; way < WAYS; way++)
		if (issues && issues->of[way].id == id)
			issue = &issues->of[way];
	if (issue) {
		is->d2c = now - issue->at;
		/* Else a part of it only. */
		if ((u32)arguments[2] >= rq->__data_len)
			issue->id = 0;
	} else if (is->op == WRITE && !rq->__data_len) {
		/* One without data only needs a flush, and is never issued: issued is the flush of
		 * the kernel's own, within whose completion it ends. */
		is->op = FLUSH;
		if (before->op == FLUSH && before->number == is->number
		    && now - before->at < COMPLETES_WITHIN)
			is->d2c = before->d2c;
	}
	return 0;
}

/* Whether it continues: only a part of it ran since then, on this CPU. */
INLINE int goes_on(struct completion *it, u64 now, u64 task, u64 interrupt)
{
	struct request___state *rq = (struct request___state *)it->rq;
	u64 start = 0;
	enum mq_rq_state state = MQ_RQ_IDLE;
	u64 hctx = 0;

	if (now - it->at >= COMPLETES_WITHIN || it->task != task || it->in_interrupt != interrupt)
		return 0;
	FOLLOW(state, rq, state);
	FOLLOW(start, rq, start_time_ns);
	FOLLOW(hctx, rq, mq_hctx);
	/* An empty flush is never issued: idle all the time. Those that end in batches keep the queue. */
	return hctx && state == it->state && start == it->start;
}

/* The program of a task; of a kernel thread without its instance's suffix. Whether it is
 * one of these. */
INLINE int name_waker(char *name, struct task_struct___waiter *task)
{
	u64 leader = 0;
	u32 flags = 0;
	int over = 0;

	FOLLOW(leader, task, group_leader);
	read_kernel(name, 16, &((struct task_struct___waiter *)leader)->comm);
	name[15] = 0;
	FOLLOW(flags, task, flags);
	if (!(flags & PF_KTHREAD))
		return 0;
#pragma unroll
	for (u32 at = 0; at < 16; at++) {
		over |= name[at] == '/';
		if (over)
			name[at] = 0;
	}
	return 1;
}

/* Where the running task entered the kernel: by a call, a page fault, or for an interrupt. */
INLINE u64 entry_of(u64 *arguments)
{
	u32 first = 0;
	struct stack *stack = map_lookup(&scratch, &first);
	long bytes;

	if (!stack)
		return 0;
	bytes = read_stack(arguments, stack->frames, sizeof(stack->frames), 0);
	return bytes > 0 ? stack->frames[((u64)bytes / sizeof(u64) - 1) & 63] : 0;
}

SEC("tp_btf/sched_waking") int wake_task(u64 *arguments)
{
	struct task_struct___waiter *task = (void *)arguments[0];
	u32 thread, first = 0, pid = 0;
	struct completions *here;
	struct begun *begun;
	u64 waker, interrupt, now, entry;

	if (!sleeps_in(state_of(task)))
		return 0;
	thread = task->pid;
	begun = map_lookup(&waiting, &thread);
	here = map_lookup(&completions, &first);
	if (!begun || !here)
		return 0;
	now = ktime_get_ns();
	waker = current_task();
	interrupt = in_interrupt(here, arguments, waker);
	begun->woken = now;
#pragma unroll
	for (u64 back = 1; back <= NESTED; back++) {
		struct completion *it = &here->last[(here->count - back) & (NESTED - 1)];

		if (it->rq && goes_on(it, now, waker, interrupt)) {
			begun->of.ended_by = BY_REQUEST;
			begun->of.number = it->number;
			begun->of.op = it->op;
			begun->d2c = it->d2c;
			return 0;
		}
	}
	FOLLOW(pid, (struct task_struct___waiter *)waker, pid);
	if (interrupt || !pid) {
		begun->of.ended_by = BY_INTERRUPT;
		return 0;
	}
	begun->of.ended_by = BY_TASK;
	if (name_waker(begun->of.waker, (struct task_struct___waiter *)waker))
		return 0;
	entry = entry_of(arguments);
	begun->of.number = entry;
	begun->of.op = entry >> 32;
	return 0;
}

/* Off its CPU and in no queue for one: it may be in this state and still on its way. The second field
 * has one byte since 7.3, four before. */
INLINE int is_waiting(struct task_struct___waiter *task)
{
	u64 queued = 0;

	read_kernel(&queued, BYTE_SIZE(task->on_rq), (void *)task + BYTE_OFFSET(task->on_rq));
	return sleeps_in(state_of(task)) && !queued;
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
	begun.of.state = sleeps_in(state_of(task));
	begun.of.stack = begun.of.user = -1;
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
	/* It may have continued before that was stored, and then nothing would end it. */
	if (!is_waiting(task))
		map_delete(&waiting, &thread);
	return 0;
}
