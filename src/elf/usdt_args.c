// SPDX-License-Identifier: Apache-2.0
#include "elf/usdt_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

/* The rest of an operand. */
struct cursor {
	const char *at, *end;
};

static bool take(struct cursor *c, char wanted)
{
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

/* Read a number in assembler syntax: decimal, or 0x and hexadecimal. */
static bool take_number(struct cursor *c, int64_t *ret)
{
	const char *digits = c->at;
	unsigned long long value;
	bool is_negative;
	char *end;
	int base;

	is_negative = digits != c->end && *digits == '-';
	digits += is_negative;
	if (digits == c->end || *digits < '0' || *digits > '9')
		return false;
	base = *digits == '0' && c->end - digits > 2 && digits[1] == 'x' ? 16 : 10;
	/* Octal; compilers do not write it. */
	if (base == 10 && *digits == '0' && c->end - digits > 1 && digits[1] >= '0' &&
	    digits[1] <= '9')
		return false;
	errno = 0;
	value = strtoull(digits, &end, base);
	if (errno || end > c->end || (base == 16 && end < digits + 3))
		return false;
	c->at = end;
	*ret = (int64_t)(is_negative ? 0 - value : value);
	return true;
}

/* --- registers -------------------------------------------------------------------- */

static bool take_register(struct cursor *c, uint8_t *number, uint8_t *size)
{
	const char *name;

	if (!take(c, '%'))
		return false;
	name = c->at;
	while (c->at != c->end &&
	       ((*c->at >= 'a' && *c->at <= 'z') || (*c->at >= '0' && *c->at <= '9')))
		c->at++;
	return arch_register_find(name, (size_t)(c->at - name), number, size);
}

/* --- operands --------------------------------------------------------------------- */

/* Addresses use whole registers only. */
static bool take_address_register(struct cursor *c, uint8_t *number)
{
	uint8_t size;

	return take_register(c, number, &size) && size == 8;
}

static bool take_scale(struct cursor *c, uint8_t *shift)
{
	int64_t scale;

	if (!take_number(c, &scale))
		return false;
	for (*shift = 0; *shift < 4; ++*shift)
		if (scale == 1 << *shift)
			return true;
	return false;
}

/* "(base)", "(base,index)", "(base,index,scale)", "(,index,scale)". */
static bool take_memory(struct cursor *c, struct usdt_arg *ret)
{
	ret->kind = USDT_ARG_MEMORY;
	if (!take(c, '('))
		return false;
	if (c->at != c->end && *c->at != ',' && !take_address_register(c, &ret->base))
		return false;
	if (take(c, ',')) {
		/* The stack pointer cannot be an index. */
		if (!take_address_register(c, &ret->index) || ret->index == 4)
			return false;
		if (take(c, ',') && !take_scale(c, &ret->shift))
			return false;
	}
	return take(c, ')') &&
	       (ret->base != USDT_NO_REGISTER || ret->index != USDT_NO_REGISTER);
}

static bool take_operand(struct cursor *c, struct usdt_arg *ret)
{
	if (take(c, '$')) {
		ret->kind = USDT_ARG_CONSTANT;
		return take_number(c, &ret->value);
	}
	if (c->at != c->end && *c->at == '%') {
		uint8_t size;

		ret->kind = USDT_ARG_REGISTER;
		if (!take_register(c, &ret->base, &size))
			return false;
		if (!ret->size_bytes)
			ret->size_bytes = size;
		/* An argument larger than the register is not in it. */
		return ret->size_bytes <= size;
	}
	if (c->at != c->end && *c->at != '(' && !take_number(c, &ret->value))
		return false;
	return take_memory(c, ret);
}

/* "4@", "-8@", or nothing. */
static bool take_size(struct cursor *c, struct usdt_arg *ret)
{
	const char *at = memchr(c->at, '@', (size_t)(c->end - c->at));
	int64_t size;

	if (!at)
		return true;
	if (!take_number(c, &size) || !take(c, '@'))
		return false;
	if (size < -8 || size > 8)
		return false;
	ret->is_signed = size < 0;
	size = size < 0 ? -size : size;
	ret->size_bytes = (uint8_t)size;
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static void parse(const char *text, size_t len, struct usdt_arg *ret)
{
	struct cursor c = {text, text + len};

	*ret = (struct usdt_arg){.base = USDT_NO_REGISTER, .index = USDT_NO_REGISTER};
	if (!take_size(&c, ret) || !take_operand(&c, ret) || c.at != c.end)
		ret->kind = USDT_ARG_UNKNOWN;
	if (!ret->size_bytes)
		ret->size_bytes = 8;
}

void usdt_args_parse(const char *text, struct usdt_arg ret[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t len;

		text += strspn(text, " ");
		len = strcspn(text, " ");
		if (len)
			parse(text, len, &ret[i]);
		else
			ret[i] = (struct usdt_arg){.kind = USDT_ARG_NONE};
		text += len;
	}
}

static bool is_register(uint8_t number)
{
	return number < 16 || number == USDT_NO_REGISTER;
}

bool usdt_arg_is_valid(const struct usdt_arg *arg)
{
	uint8_t size = arg->size_bytes;

	switch (arg->kind) {
	case USDT_ARG_NONE:
	case USDT_ARG_UNKNOWN:
		return true;
	case USDT_ARG_CONSTANT:
	case USDT_ARG_REGISTER:
	case USDT_ARG_MEMORY:
		break;
	default:
		return false;
	}
	return (size == 1 || size == 2 || size == 4 || size == 8) &&
	       is_register(arg->base) && is_register(arg->index) && arg->shift < 4 &&
	       (arg->kind != USDT_ARG_REGISTER || arg->base < 16);
}
