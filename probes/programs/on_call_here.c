/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
ENTRY(on_call_here, tracee_is_here, call_entered, call_meaning(ctx))
