/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All rows of the option table, in the order of the help text. The includer defines
 * OPTION(ID, FIELDS...), which option_table.h makes the enum of, and option_table.c the
 * table. FIELDS initializes a struct option_row; GROUP is the row's enum option_group.
 * No include guard: the file is included twice. Private to options/.
 */
#include "options/rows_target.h"
#include "options/rows_reports.h"
#include "options/rows_unreachable.h"
#include "options/rows_filter.h"
#include "options/rows_limits.h"
#include "options/rows_names.h"
#include "options/rows_output.h"
#include "options/rows_advanced.h"
