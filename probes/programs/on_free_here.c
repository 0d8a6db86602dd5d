/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
ENTRY(on_free_here, tracee_is_here, free_entered, site_meaning(ctx, site_at(ctx)))
