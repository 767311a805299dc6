/* SPDX-License-Identifier: Apache-2.0 */
/* output: what of a program's output is sent, and how: cut into frames, up to each stream's maximum, the rest counted.
 *
 * Used by the session on every wall. Bytes go on at once: nothing waits here, so nothing is lost when the guest is killed. */
#ifndef PL_GUEST_OUTPUT_H
#define PL_GUEST_OUTPUT_H

#include "wire/frame.h"

#include <stddef.h>
#include <stdint.h>

struct pl_output_stream {
	uint64_t max_bytes, total_bytes;
	uint64_t announced; /* how many DROPPED frames have been sent */
};

struct pl_output {
	struct pl_output_stream streams[2]; /* stdout, stderr */
	/* Sends one frame whose payload is head and then body. */
	void (*send)(void *opaque, enum pl_frame_type type, const uint8_t *head, size_t head_len, const uint8_t *body,
		     size_t body_len);
	void *opaque;
};

/* A stream's number is one more than its index. */
static inline struct pl_output_stream *pl_output_stream(struct pl_output *output, enum pl_stream stream)
{
	return &output->streams[stream == PL_STREAM_STDERR];
}

void pl_output_write(struct pl_output *output, enum pl_stream stream, const uint8_t *bytes, size_t len);

#endif
