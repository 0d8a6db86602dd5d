/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Check the sites inside a function. The first call of the function sends the number of
 * its check to memtrace, which then attaches on_check() wherever calls end. There the
 * results of the next calls are compared with the results that the sites read before.
 */
BPF_F_TABLE("array", u32, struct abi_check, checks, ABI_MAX_CHECKS, BPF_F_MMAPABLE);
BPF_F_TABLE("lru_hash", struct abi_check_call, struct abi_check_claim, check_claims,
	    ABI_CHECK_CLAIMS, 0);
BPF_F_TABLE("hash", struct abi_check_site, u64, check_retired, ABI_CHECK_RETIRED,
	    AS_NEEDED);
/* Numbers of the checks that memtrace has to look at. */
BPF_RINGBUF_OUTPUT(check_news, 1);

ALWAYS_INLINE void check_wake(u32 number)
{
	check_news.ringbuf_output(&number, sizeof(number), 0);
}

/* A site of a function was hit: start the function's check if it was not checked yet. */
ALWAYS_INLINE void check_call(const struct abi_site_at *s)
{
	short_key number = s->check - 1;
	struct abi_check *check = s->check & ABI_CHECK_QUIET ? NULL : checks.lookup(&number);

	if (check && check->state == ABI_CHECK_IDLE &&
	    __sync_bool_compare_and_swap(&check->state, ABI_CHECK_IDLE, ABI_CHECK_WANTED))
		check_wake(number);
}

/* The same for a site that sees the result of the call that returns at `sp`. */
ALWAYS_INLINE void check_result(const struct tracee *t, const struct abi_site_at *s, u64 sp,
				u64 result)
{
	struct abi_check_call call = {t->caller, sp};
	struct abi_check_claim claim = {result, t->ctl->checks_begun};

	check_call(s);
	if (t->ctl->checks_running)
		check_claims.update(&call, &claim);
}

ALWAYS_INLINE int check_is_retired(struct pt_regs *ctx, u64 meaning)
{
	struct abi_check_site site = {ABI_CHECK_MEANING(meaning),
				      REG_PC(ctx) & (MEMTRACE_PAGE_SIZE - 1)};

	return !!check_retired.lookup(&site);
}

/* Count a call. The last one that is needed sends the number to memtrace. */
ALWAYS_INLINE void check_count(u32 number, u64 *calls, u64 last)
{
	if (__sync_fetch_and_add(calls, 1) + 1 == last)
		check_wake(number);
}

/* A call ends with this result. */
ALWAYS_INLINE void check_exit(const struct tracee *t, struct pt_regs *ctx, u64 meaning,
			      u64 result)
{
	short_key number = ABI_CHECK_NUMBER(meaning);
	struct abi_check *check = checks.lookup(&number);

	if (!check || check->state != ABI_CHECK_RUNNING ||
	    check->agreed >= ABI_CHECK_AGREED)
		return;

	struct abi_check_call call = {t->caller, REG_SP(ctx)};
	struct abi_check_claim *claim = check_claims.lookup(&call);

	/* An old claim belongs to a call that never ended. */
	if (!claim || claim->begun < check->began) {
		if (meaning & ABI_CHECK_OWN)
			check_count(number, &check->missed, ABI_CHECK_MISSED);
		return;
	}

	u64 difference = claim->result ^ result;

	check_claims.delete(&call);
	if (meaning & ABI_CHECK_SHORT)
		difference = (u32)difference;
	if (difference)
		check_count(number, &check->differed, ABI_CHECK_DIFFERED);
	else
		check_count(number, &check->agreed, ABI_CHECK_AGREED);
}
