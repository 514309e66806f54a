/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Which bucket of the standard table a latency falls into.
 *
 * The same table as iowhy_model::Edges::standard(): PER_OCTAVE equal buckets for the first unit,
 * then PER_OCTAVE per doubling, the last bucket open. A test compiles this file for the build
 * machine and holds it against the Rust side.
 */
#ifndef IOWHY_EDGES_H
#define IOWHY_EDGES_H

#define UNIT_NS 125 /* the width of the narrowest bucket */
#define LOG2_PER_OCTAVE 3
#define PER_OCTAVE (1 << LOG2_PER_OCTAVE)
#define OCTAVES 27
#define BUCKETS (PER_OCTAVE + OCTAVES * PER_OCTAVE + 1)

/* The place of the highest bit; 0 for 0. Shifts instead of branches below 2^16, where latencies of
 * one disk differ and a branch would be guessed wrong every other time. */
static inline __attribute__((always_inline)) unsigned log2_floor(unsigned long long value)
{
	unsigned place = 0, step;

	if (value >> 32) { place += 32; value >>= 32; }
	if (value >> 16) { place += 16; value >>= 16; }
	/* (value - limit) >> 63 is 1 below the limit, 0 from it on. */
	step = (unsigned)(((value - 256) >> 63) ^ 1) << 3; place += step; value >>= step;
	step = (unsigned)(((value - 16) >> 63) ^ 1) << 2; place += step; value >>= step;
	step = (unsigned)(((value - 4) >> 63) ^ 1) << 1; place += step; value >>= step;
	return place + (unsigned)(value >> 1);
}

/* How many units of UNIT_NS. Below 2^32 ns by a product, which is exact there (2^35 / 125 rounded
 * up is off by 7 / 125, and 7 * 2^32 < 2^35) and spares a division that takes longer than all the
 * rest of the bucket. */
static inline __attribute__((always_inline)) unsigned long long units_of(unsigned long long ns)
{
	return ns >> 32 ? ns / UNIT_NS : ns * 274877907ULL >> 35;
}

static inline __attribute__((always_inline)) unsigned bucket(unsigned long long ns)
{
	unsigned long long units = units_of(ns);
	unsigned octave, place;

	if (units < PER_OCTAVE)
		return (unsigned)units;
	octave = log2_floor(units) - LOG2_PER_OCTAVE;
	place = PER_OCTAVE + octave * PER_OCTAVE
		+ (unsigned)((units >> octave) & (PER_OCTAVE - 1));
	return place < BUCKETS ? place : BUCKETS - 1;
}

#endif
