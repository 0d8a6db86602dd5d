// SPDX-License-Identifier: Apache-2.0
/* Imitates a runtime: a library gets its file name, a program its ELF section. */
void runtime_stub(void);

void runtime_stub(void)
{
}

#ifdef WITH_GO_SECTION
__attribute__((section(".go.buildinfo"), used)) static const char build_info[32] = "Go";
#endif
