/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All views, a row each: VIEW(NAME, WORDS) is view_NAME, of --view NAME. The includer
 * defines VIEW(). No include guard: the file is included more than once.
 *
 * WORDS: what follows the name in the help of --view.
 */
/* clang-format off */
VIEW(leaks, " (the default)") /* what is held now, and which call paths seem to leak */
VIEW(growth, "") /* what grew since the previous report, and over the run */
VIEW(traffic, "") /* what was allocated and freed, even if nothing is held now */
VIEW(peak, "") /* the most that was held at once */
VIEW(allocations, " (largest single ones)") /* the largest single blocks, in addition to the stacks that hold most */
VIEW(threads, "") /* which threads allocated and freed */
VIEW(histogram, " (of sizes)") /* block sizes in powers of two */
VIEW(lifetimes, "") /* how long freed blocks lived */
VIEW(processes, "") /* what each process holds */
VIEW(functions, " (what each holds itself and with all it calls)") /* what each function, module or source file holds */
VIEW(tree, " (of calls)") /* what each function holds, below its callers */
VIEW(unreachable, " (blocks that nothing points to)") /* blocks that nothing points to */
/* clang-format on */
