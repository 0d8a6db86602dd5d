/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
ENTRY(on_free, tracee_find, free_entered, site_meaning(ctx, site_at(ctx)))
