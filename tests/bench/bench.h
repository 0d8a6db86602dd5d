/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of the bench and the functions that all of them use. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Print the message on stderr and exit with status 1. The children are killed too. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* The time on CLOCK_MONOTONIC. */
uint64_t now_ns(void);
void sleep_ms(unsigned ms);

/* The median of `values`, which are sorted in place; NAN if `count` is 0. */
double median(double values[], size_t count);

struct peers;

/* Each section measures and prints its table, with the tools of others that can run. */
void section_start(const struct peers *peers);      /* start, resident memory, stop */
void section_idle(const struct peers *peers);       /* the cost of doing nothing */
void section_memory(const struct peers *peers);     /* kernel memory of blocks */
void section_report(const struct peers *peers);     /* the report of a million blocks */
void section_pairs(const struct peers *peers);      /* a pair of malloc and free */
void section_server(const struct peers *peers);     /* pairs after a sleep */
void section_allocators(const struct peers *peers); /* in several libraries */

void section_analysis(void); /* finding where to put probes */
void section_follow(void);   /* programs that a traced process executes */
void section_before(void);   /* start and report, beside another build */
void section_growth(void);   /* what --growth costs a program that grows */
void section_stacks(void);   /* what each frame of a stack costs */
void section_unwind(void);   /* unwind misses, time to the first stack */
void section_listen(void);   /* scrapes over HTTP, and their cost */
void section_replay(void);   /* a large snapshot in each format */
void section_screen(void);   /* the screen of --live */
void section_search(void);   /* the search for unreachable blocks */

#endif
