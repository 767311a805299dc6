/* SPDX-License-Identifier: Apache-2.0 */
/* output: see output.h. */
#include "guest/output.h"

#define DROPPED_STEP_BYTES (1024u * 1024u)

static void send_chunks(struct pl_output *output, enum pl_stream stream, const uint8_t *bytes, size_t len)
{
	uint8_t head = (uint8_t)stream;

	while (len) {
		size_t n = len < PL_OUTPUT_CHUNK_MAX ? len : PL_OUTPUT_CHUNK_MAX;

		output->send(output->opaque, PL_FRAME_OUTPUT, &head, 1, bytes, n);
		bytes += n;
		len -= n;
	}
}

/* Once when the maximum is passed, and again for every further MiB. */
static void announce_dropped(struct pl_output *output, enum pl_stream stream, struct pl_output_stream *state)
{
	uint64_t due = (state->total_bytes - state->max_bytes - 1) / DROPPED_STEP_BYTES + 1;
	uint8_t payload[PL_DROPPED_LEN];

	if (due <= state->announced)
		return;
	state->announced = due;
	pl_dropped_print(payload, stream, state->total_bytes);
	output->send(output->opaque, PL_FRAME_DROPPED, payload, sizeof payload, NULL, 0);
}

void pl_output_write(struct pl_output *output, enum pl_stream stream, const uint8_t *bytes, size_t len)
{
	struct pl_output_stream *state = pl_output_stream(output, stream);
	uint64_t room = state->total_bytes < state->max_bytes ? state->max_bytes - state->total_bytes : 0;

	send_chunks(output, stream, bytes, len < room ? len : (size_t)room);
	state->total_bytes += len;
	if (state->total_bytes > state->max_bytes)
		announce_dropped(output, stream, state);
}
