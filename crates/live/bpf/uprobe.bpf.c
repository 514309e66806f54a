// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Calls of a user function, from entry to return; or values that it is called with, one taken as a
 * latency and another as the event it belongs to.
 */
#include "spans.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile u32 latency_argument; /* its register, plus one; 0: entry to return */
const volatile u32 event_argument;   /* likewise; 0: none */
const volatile u64 latency_unit = 1; /* nanoseconds of one */

/* The registers as a uprobe is handed them, in words: arguments in order, then the stack pointer.
 * arch/x86/include/asm/ptrace.h and the System V ABI; arch/arm64/include/uapi/asm/ptrace.h. */
#if defined(FOR_X86_64)
#define REGISTERS { 14, 13, 12, 11, 9, 8 }
#define STACK 19
/* A return pops its address from the stack. */
#define RETURN_ADDRESS 8
#elif defined(FOR_AARCH64)
#define REGISTERS { 0, 1, 2, 3, 4, 5 }
#define STACK 31
#define RETURN_ADDRESS 0
#else
#error "the registers of this machine are not known"
#endif

struct call {
	u64 thread;
	u64 stack; /* separates the calls of a recursive function */
};

struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 16384);
	TYPE(key, struct call);
	TYPE(value, u64);
} inside SEC(".maps");

/* Every register is read at a place that is known when the program is built: the verifier allows
 * no other. */
INLINE u64 argument(u64 *registers, u32 number)
{
	static const u32 at[] = REGISTERS;
	volatile u64 *all = registers;
	u64 first = all[at[0]], second = all[at[1]], third = all[at[2]];
	u64 fourth = all[at[3]], fifth = all[at[4]], sixth = all[at[5]];

	switch (number) {
	case 1: return first;
	case 2: return second;
	case 3: return third;
	case 4: return fourth;
	case 5: return fifth;
	case 6: return sixth;
	}
	return 0;
}

SEC("uprobe") int enter_function(u64 *registers)
{
	u64 now;
	u32 pid = process(), kind = 0;
	struct call call = {};

	if (!is_wanted(pid))
		return 0;
	if (event_argument)
		kind = argument(registers, event_argument);
	if (latency_argument) {
		u64 value = argument(registers, latency_argument);

		count_span(group_of(pid, kind, 0), value * latency_unit);
		return 0;
	}
	call.thread = current_pid_tgid();
	call.stack = registers[STACK];
	now = ktime_get_ns();
	if (map_update(&inside, &call, &now, 0))
		miss(NO_START_KEPT);
	return 0;
}

SEC("uretprobe") int leave_function(u64 *registers)
{
	u64 now = ktime_get_ns();
	struct call call = {};
	u64 *begun;

	call.thread = current_pid_tgid();
	call.stack = registers[STACK] - RETURN_ADDRESS;
	begun = map_lookup(&inside, &call);
	if (!begun)
		return 0;
	count_span(group_of(process(), 0, 0), now - *begun);
	map_delete(&inside, &call);
	return 0;
}
