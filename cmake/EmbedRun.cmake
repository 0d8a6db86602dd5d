# SPDX-License-Identifier: Apache-2.0
# The build-time half of Embed.cmake.
string(REPLACE "," ";" FILES "${FILES}")
set(text "/* Made by cmake/EmbedRun.cmake; do not edit. */\n")
string(APPEND text "#include \"util/embedded.h\"\n\n")
string(APPEND text "const struct embedded_file ${SYMBOL}[] = {\n")
foreach(f ${FILES})
	# As hex: no quoting, no limit on the length of a string literal.
	file(READ ${ROOT}/${f} hex HEX)
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
	string(APPEND text "\t{\"${f}\", (const char[]){${bytes}0}},\n")
endforeach()
string(APPEND text "\t{0, 0},\n};\n")
file(WRITE ${OUTPUT} "${text}")
