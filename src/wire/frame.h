/* SPDX-License-Identifier: Apache-2.0 */
/* frame: the messages between the supervisor and a guest, over one stream socket, the same on every wall.
 *
 * Used by the supervisor (which trusts nothing that arrives here) and by the guest (which trusts its host).
 * A frame is eight bytes of header and then the payload; integers are little-endian:
 *
 *     u32 payload_len   u8 type   u8 zero[3]   payload
 *
 * The order is fixed:  CHALLENGE >  < HELLO  JOB >  < OUTPUT|DROPPED ...  < RESULT  and then the guest waits for the
 * end of the stream: nothing is sent after RESULT. The functions are pure: bytes in, bytes out, no I/O. */
#ifndef PL_WIRE_FRAME_H
#define PL_WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define PL_FRAME_HEADER_LEN 8u
/* The largest payload either side may send: a job holds 256 KiB of code, an OUTPUT at most PL_OUTPUT_CHUNK_MAX bytes. */
#define PL_FRAME_PAYLOAD_MAX (320u * 1024u)
#define PL_OUTPUT_CHUNK_MAX (64u * 1024u)

#define PL_CHALLENGE_LEN 32u
#define PL_IMAGE_ID_LEN 32u
#define PL_DIGEST_LEN 32u
#define PL_SEED_LEN 32u

/* The task name that a guest takes before HELLO: the first 15 characters of the challenge in base32 (RFC 4648, upper
 * case, no padding). 15 is what the kernel keeps of a task name. */
#define PL_TASK_NAME_LEN 15u

#define PL_FRAME_LIST(X)                                                                                               \
	X(CHALLENGE, 1, "challenge")                                                                                       \
	X(HELLO, 2, "hello")                                                                                               \
	X(JOB, 3, "job")                                                                                                   \
	X(OUTPUT, 4, "output")                                                                                             \
	X(DROPPED, 5, "dropped")                                                                                           \
	X(RESULT, 6, "result")

enum pl_frame_type {
#define X(name, number, text) PL_FRAME_##name = (number),
	PL_FRAME_LIST(X)
#undef X
};

enum pl_stream { PL_STREAM_STDOUT = 1, PL_STREAM_STDERR = 2 };

/* How the code is to be read. AUTO: a module when it has import or export declarations, else a script in which
 * top-level await is allowed. */
enum pl_source_kind { PL_SOURCE_AUTO = 0, PL_SOURCE_SCRIPT = 1, PL_SOURCE_MODULE = 2 };

struct pl_frame_header {
	uint32_t payload_len;
	enum pl_frame_type type;
};

/* HELLO: digest is SHA-256("plimsoll-hello-1" || challenge || image_id), without a zero after the text; image_id is the build id
 * (32 bytes). The counts are the guest's own word: how many calls of the fixed list it tried, how many were denied with
 * EPERM. dumpable is what prctl(PR_GET_DUMPABLE) said. */
struct pl_hello {
	uint8_t digest[PL_DIGEST_LEN];
	uint8_t image_id[PL_IMAGE_ID_LEN];
	uint16_t probes_tried;
	uint16_t probes_denied;
	uint8_t landlock_denied; /* 1: opening a path was refused with EACCES or EPERM; stated, never required */
	uint8_t dumpable;
};
#define PL_HELLO_LEN 70u

/* JOB: everything the guest is told about a run. code points into the payload that was parsed; it holds no NUL and is
 * valid UTF-8 (checked by the host before dispatch). */
struct pl_job {
	enum pl_source_kind kind;
	uint64_t memory_bytes;      /* what the engine may allocate: the wall's cap less a fixed reserve */
	uint64_t stdout_max_bytes;  /* what the guest sends of each stream; the rest is counted, not sent */
	uint64_t stderr_max_bytes;
	int64_t now_ms;             /* the host's clock at dispatch, milliseconds since 1970 */
	uint64_t fail_allocation;   /* test builds: the n-th allocation of the engine fails, 0 = none; 0 in every other build */
	uint8_t seed[PL_SEED_LEN];  /* for the engine's random numbers */
	const char *name;           /* how stack traces call the code, as "[eval]"; printable ASCII, at most 255 bytes */
	size_t name_len;
	const char *code;
	size_t code_len;
};

/* RESULT: the guest's own word about how its code ended. Totals count bytes produced, sent or not. */
struct pl_guest_result {
	int32_t exit_code; /* 0..255 */
	uint8_t oom;       /* ended on a refused allocation that nothing caught */
	uint64_t stdout_total;
	uint64_t stderr_total;
};
#define PL_GUEST_RESULT_LEN 21u

/* Writes the eight bytes of a header. */
void pl_frame_header_print(uint8_t ret_header[PL_FRAME_HEADER_LEN], enum pl_frame_type type, uint32_t payload_len);
/* -EPROTO: unknown type, payload over PL_FRAME_PAYLOAD_MAX, or a reserved byte that is not zero. */
int pl_frame_header_parse(const uint8_t header[PL_FRAME_HEADER_LEN], struct pl_frame_header *ret);

void pl_hello_print(uint8_t ret_payload[PL_HELLO_LEN], const struct pl_hello *hello);
int pl_hello_parse(const uint8_t *payload, size_t len, struct pl_hello *ret);

/* The length of the payload that pl_job_print writes, or -EMSGSIZE over PL_FRAME_PAYLOAD_MAX. */
int64_t pl_job_len(const struct pl_job *job);
/* ret_payload has room for pl_job_len bytes. */
void pl_job_print(uint8_t *ret_payload, const struct pl_job *job);
/* name and code borrow from payload. -EPROTO on any length that does not add up. */
int pl_job_parse(const uint8_t *payload, size_t len, struct pl_job *ret);

void pl_guest_result_print(uint8_t ret_payload[PL_GUEST_RESULT_LEN], const struct pl_guest_result *result);
/* -EPROTO: wrong length, exit code outside 0..255, oom not 0 or 1. */
int pl_guest_result_parse(const uint8_t *payload, size_t len, struct pl_guest_result *ret);

/* OUTPUT is u8 stream and then the bytes; DROPPED is u8 stream and u64 total produced so far on it. A guest sends
 * DROPPED when a stream passes its maximum and again for every further MiB, so that a run that ends by death has a total too. */
#define PL_DROPPED_LEN 9u
void pl_dropped_print(uint8_t ret_payload[PL_DROPPED_LEN], enum pl_stream stream, uint64_t total);
int pl_dropped_parse(const uint8_t *payload, size_t len, enum pl_stream *ret_stream, uint64_t *ret_total);
int pl_output_parse(const uint8_t *payload, size_t len, enum pl_stream *ret_stream, const uint8_t **ret_bytes,
		    size_t *ret_len);

/* The task name of a challenge, with a NUL. */
void pl_task_name(const uint8_t challenge[PL_CHALLENGE_LEN], char ret_name[PL_TASK_NAME_LEN + 1]);

#endif
