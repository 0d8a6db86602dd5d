// SPDX-License-Identifier: Apache-2.0
/* A library for tests to load and unload. */
int library_function(int n);

int library_function(int n)
{
	return n + 1;
}
