/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
ENTRY(on_call, tracee_find, call_entered, call_meaning(ctx))
