// SPDX-License-Identifier: Apache-2.0
#include "util/sha256.h"

#include <string.h>

#define BLOCK_BYTES 64
/* Offset of the length in the last block. */
#define LENGTH_AT 56

/* FIPS 180-4, 4.2.2. */
static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

/* 6.2.2. */
static void add_block(uint32_t h[8], const uint8_t *block)
{
	uint32_t w[64], v[8];

	for (size_t t = 0; t < 16; t++, block += 4)
		w[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
		       (uint32_t)block[2] << 8 | block[3];
	for (size_t t = 16; t < 64; t++) {
		uint32_t a = w[t - 15], b = w[t - 2];

		w[t] = (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10) + w[t - 7] +
		       (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[t - 16];
	}
	memcpy(v, h, sizeof(v));
	for (size_t t = 0; t < 64; t++) {
		uint32_t a = v[0], e = v[4];
		uint32_t t1 = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
			      ((e & v[5]) ^ (~e & v[6])) + k[t] + w[t];
		uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
			      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (size_t i = 0; i < 8; i++)
		h[i] += v[i];
}

void sha256(const void *data, size_t len, uint8_t ret[SHA256_BYTES])
{
	uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	const uint8_t *at = data;
	size_t left = len;
	uint8_t last[2 * BLOCK_BYTES] = {0};

	for (; left >= BLOCK_BYTES; at += BLOCK_BYTES, left -= BLOCK_BYTES)
		add_block(h, at);

	/* 5.1.1: padding is a one bit, zeroes, and the length in bits. */
	size_t end = left < LENGTH_AT ? BLOCK_BYTES : 2 * BLOCK_BYTES;

	if (left)
		memcpy(last, at, left);
	last[left] = 0x80;
	for (size_t i = 0; i < 8; i++)
		last[end - 1 - i] = (uint8_t)((uint64_t)len * 8 >> 8 * i);
	for (size_t i = 0; i < end; i += BLOCK_BYTES)
		add_block(h, last + i);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		ret[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}

struct sha256_text sha256_base64(const char *text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789+/";
	/* One zero byte makes the length a multiple of three. */
	uint8_t hash[SHA256_BYTES + 1] = {0};
	struct sha256_text ret;

	sha256(text, strlen(text), hash);
	for (size_t i = 0; i < SHA256_BASE64_CHARS; i++) {
		const uint8_t *group = hash + i / 4 * 3;
		uint32_t bits =
			(uint32_t)group[0] << 16 | (uint32_t)group[1] << 8 | group[2];

		ret.s[i] = digits[bits >> (18 - 6 * (i % 4)) & 63];
	}
	ret.s[SHA256_BASE64_CHARS - 1] = '=';
	ret.s[SHA256_BASE64_CHARS] = '\0';
	return ret;
}
