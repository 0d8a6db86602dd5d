// SPDX-License-Identifier: Apache-2.0
/* Stands in for a runtime: as a library it has the name of one, in a program its section.
 */
void runtime_stub(void);

void runtime_stub(void)
{
}

#ifdef WITH_GO_SECTION
__attribute__((section(".go.buildinfo"), used)) static const char build_info[32] = "Go";
#endif
