// SPDX-License-Identifier: Apache-2.0
/* A library for tests to load and unload. */
int library_function(int n);
int library_hidden(int n);
void *library_hidden_address(void);

/* Only in .symtab. */
__attribute__((visibility("hidden"), noinline)) int library_hidden(int n)
{
	return n + 2;
}

void *library_hidden_address(void)
{
	return (void *)library_hidden;
}

int library_function(int n)
{
	return n + 1;
}
