/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
int on_return(struct pt_regs *ctx)
{
	return call_returned(ctx);
}
