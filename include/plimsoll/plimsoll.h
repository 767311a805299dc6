/* SPDX-License-Identifier: Apache-2.0 */
/* plimsoll: run code that nobody has read, and be told how strong the wall around it was, as measured on that very run.
 *
 *     struct plimsoll_options options = PLIMSOLL_OPTIONS_INIT;
 *     struct plimsoll_request request = PLIMSOLL_REQUEST_INIT;
 *     struct plimsoll_context *context;
 *     struct plimsoll_result *result;
 *     struct plimsoll_error error;
 *
 *     options.walls = "container,process";
 *     request.code = "console.log(6*7)";
 *     request.code_len = strlen(request.code);
 *     request.floor = "container";
 *     if (plimsoll_open(&options, &context, &error) < 0 || plimsoll_run(context, &request, &result, &error) < 0)
 *         fprintf(stderr, "%s (%s)\n", error.message, error.reason ? "nothing ran" : "it may have run");
 *
 * Every function may be called from any thread. The library starts one supervisor process a context and talks to it; it
 * leaves the program's signals, children and threads alone. A program that is pid 1 or a child subreaper inherits the
 * supervisor as a child when it starts it, and then sees it end in wait().
 *
 * A tier is a measurement by this host, not an attestation: the host's root, kernel and firmware are trusted. */
#ifndef PLIMSOLL_H
#define PLIMSOLL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_VERSION "0.1.0"

/* Isolation tiers, weakest first. The value is the rank; UNKNOWN and NONE meet no floor. */
enum plimsoll_tier {
	PLIMSOLL_TIER_NONE = -1,    /* nothing can run */
	PLIMSOLL_TIER_UNKNOWN = 0,  /* cannot be stated */
	PLIMSOLL_TIER_PROCESS = 1,  /* a language engine and a process of its own, no operating-system wall */
	PLIMSOLL_TIER_CONTAINER = 2,/* namespaces, seccomp, no capabilities, limits; the host's kernel serves system calls */
	PLIMSOLL_TIER_KERNEL = 3,   /* a user-space kernel serves them */
	PLIMSOLL_TIER_VM = 4        /* a KVM virtual machine */
};

/* Why nothing ran. NONE is the absence of that certainty: the code may have run. */
enum plimsoll_reason {
	PLIMSOLL_REASON_NONE = 0,
	PLIMSOLL_REASON_REQUEST = 1,     /* malformed, out of bounds, or cancelled before dispatch; do not try elsewhere */
	PLIMSOLL_REASON_PERMISSION = 2,  /* caller, scope or grant refused */
	PLIMSOLL_REASON_PROTOCOL = 3,    /* the other side speaks another protocol */
	PLIMSOLL_REASON_UNSUPPORTED = 4, /* this wall cannot do it, or no wall is configured */
	PLIMSOLL_REASON_ISOLATION = 5,   /* the measured tier is below the floor, or a fact was contradicted */
	PLIMSOLL_REASON_CAPACITY = 6,    /* no slot now; later */
	PLIMSOLL_REASON_ENVIRONMENT = 7  /* the sandbox could not be had, or a fact could not be read */
};

/* How the code is read. AUTO: a module when it has import or export declarations, else a script with top-level await. */
enum plimsoll_source { PLIMSOLL_SOURCE_AUTO = 0, PLIMSOLL_SOURCE_SCRIPT = 1, PLIMSOLL_SOURCE_MODULE = 2 };

/* An error: filled by the function that failed, holds no pointers, needs no freeing. */
struct plimsoll_error {
	int32_t code;                /* negative; PLIMSOLL_ERROR_… below, or -errno */
	enum plimsoll_reason reason; /* not NONE: it is certain that nothing ran */
	char step[48];               /* what was being done, as "open container" */
	char fact[32];               /* the fact that was missing or contradicted, or "" */
	char message[384];           /* one line: what was found, what was wanted, what to do */
};

/* -1…-999 are -errno. docs/errors.md lists these with their meaning. */
#define PLIMSOLL_ERROR_INVALID (-1001)     /* the request or an option is malformed or out of bounds */
#define PLIMSOLL_ERROR_UNSUPPORTED (-1002) /* no wall configured, or none that can do it */
#define PLIMSOLL_ERROR_ISOLATION (-1003)   /* tier below the floor, or a contradicted fact */
#define PLIMSOLL_ERROR_ENVIRONMENT (-1004) /* the sandbox could not be built or measured */
#define PLIMSOLL_ERROR_CAPACITY (-1005)    /* every slot is taken */
#define PLIMSOLL_ERROR_CANCELLED (-1006)   /* cancelled by the caller; look at reason */
#define PLIMSOLL_ERROR_LOST (-1007)        /* the supervisor ended or broke the protocol */
#define PLIMSOLL_ERROR_GUEST (-1008)       /* the guest broke the protocol after dispatch */
#define PLIMSOLL_ERROR_CHANGED (-1009)     /* a fact changed during the run */
#define PLIMSOLL_ERROR_BUILD (-1010)       /* library and supervisor are of different builds */

struct plimsoll_context;
struct plimsoll_result;
struct plimsoll_evidence;
struct plimsoll_doctor;
struct plimsoll_cancel;

/* Options of a context. Set with PLIMSOLL_OPTIONS_INIT; every zero means the default. Strings are copied by plimsoll_open. */
struct plimsoll_options {
	size_t size;             /* sizeof(struct plimsoll_options) of the caller's header */
	const char *walls;       /* the walls that may be used, as "microvm,container,process" (blanks around a name do not matter);
	                            NULL or "": none, every run is refused */
	const char *floor;       /* the operator's floor: no run is dispatched below it; NULL or "": none */
	const char *libexec_dir; /* where the helper programs are; NULL: the directory compiled in */
	uint32_t pool;           /* sandboxes that wait at the gate, for each wall; default 0: each is opened when it is needed */
	uint32_t runs_max;       /* runs at the same time, at most 256; default 16; one more is refused with CAPACITY */
	uint32_t id_first;       /* as root: first of the host user ids that sandboxes get; default 1966080 */
	uint32_t id_count;       /* how many; default 31920, at least 4 */
	uint64_t memory_max_bytes; /* the most a request may ask for; default 4 GiB */
	int64_t timeout_max_ms;  /* the ceiling to which a request's timeout is clamped; default 30000, at most 300000 */
	const char *microvm_flavours; /* the kinds of KVM that the microvm wall may use, of vmx, svm, pvm; NULL or "": vmx,svm */
};
#define PLIMSOLL_OPTIONS_INIT { .size = sizeof(struct plimsoll_options) }

/* A request. Set with PLIMSOLL_REQUEST_INIT; every zero means the default. All pointers are borrowed for the call. */
struct plimsoll_request {
	size_t size;               /* sizeof(struct plimsoll_request) of the caller's header */
	const char *code;          /* JavaScript, valid UTF-8 without NUL, 1 to 262144 bytes */
	size_t code_len;
	const char *name;          /* how stack traces call it; NULL: "[eval]"; at most 255 bytes of printable ASCII */
	enum plimsoll_source source;
	const char *floor;         /* "process", "container", "kernel", "vm", or NULL or "" for none */
	const char *wall;          /* "microvm", "container", "process", or NULL, "" or "auto": the strongest that meets the floor */
	int64_t timeout_ms;        /* from dispatch; 0: default (5000); over the ceiling: clamped; negative: refused */
	uint64_t memory_bytes;     /* 0: default (268435456); from 16777216 to the context's memory_max_bytes, else refused */
	uint64_t stdout_max_bytes; /* how much of each stream is kept; 0: default (65536); at most 8388608, else refused */
	uint64_t stderr_max_bytes;
	struct plimsoll_cancel *cancel; /* ends the run when triggered; NULL: none */
};
#define PLIMSOLL_REQUEST_INIT { .size = sizeof(struct plimsoll_request) }

/* One fact of a sandbox. The strings belong to the evidence. */
struct plimsoll_fact {
	const char *name;     /* as "ns.pid" */
	const char *value;    /* what was read; "" where it would tell something about the host (hashed in the evidence) */
	const char *expected; /* the predicate, as "equals the request's memory limit" */
	const char *source;   /* "host", "runtime" or "guest" */
	const char *verdict;  /* "met", or for a fact that is only stated "stated" */
	const char *after;    /* after the run: "same", "gone" (the task had ended), "fixed" (cannot change once it was
	                         measured), or "" where no run was made */
	int required;         /* 1: the tier rests on it */
};

/* Starts a supervisor with these options, on the heap; plimsoll_close frees it. 0, or negative with *error filled
 * (reason ENVIRONMENT, REQUEST or PROTOCOL; an option that is unknown, out of range or cannot be enforced is refused, all
 * of them named at once). Blocks until the supervisor has looked at the host (some milliseconds), not until pools are full. */
int plimsoll_open(const struct plimsoll_options *options, struct plimsoll_context **ret, struct plimsoll_error *error);

/* Ends the supervisor and everything that it made, and waits for that, at most 10 s; runs in other threads end with LOST.
 * NULL is allowed. */
void plimsoll_close(struct plimsoll_context *context);

/* Runs code behind a wall and waits for its end. 0: *ret is on the heap, for plimsoll_result_free, whatever the code did:
 * a non-zero exit code, a timeout or running out of memory is a result. Negative: *error is filled, and
 * error->reason says whether it is certain that nothing ran. */
int plimsoll_run(struct plimsoll_context *context, const struct plimsoll_request *request,
		 struct plimsoll_result **ret, struct plimsoll_error *error);

/* Opens a sandbox of wall, measures it, compares its facts and destroys it; nothing is dispatched. wall as in a request,
 * where NULL, "" and "auto" mean the strongest configured. */
int plimsoll_measure(struct plimsoll_context *context, const char *wall, struct plimsoll_evidence **ret,
		     struct plimsoll_error *error);

/* A trigger that ends runs. plimsoll_cancel_trigger is async-signal-safe and may be called from any thread, more than
 * once; a trigger stays triggered. It must outlive the runs that it was given to. */
int plimsoll_cancel_new(struct plimsoll_cancel **ret, struct plimsoll_error *error);
void plimsoll_cancel_trigger(struct plimsoll_cancel *cancel);
void plimsoll_cancel_free(struct plimsoll_cancel *cancel);

/* The result of a run. Pointers belong to it and live as long as it does. */
int plimsoll_result_exit_code(const struct plimsoll_result *result);      /* 0…255; 124 timed out, 134 crash, 137 memory */
int plimsoll_result_timed_out(const struct plimsoll_result *result);      /* 1: ended at its deadline */
int plimsoll_result_oom(const struct plimsoll_result *result);            /* 1: ended for want of memory */
const uint8_t *plimsoll_result_stdout(const struct plimsoll_result *result, size_t *ret_len); /* bytes as written */
const uint8_t *plimsoll_result_stderr(const struct plimsoll_result *result, size_t *ret_len);
uint64_t plimsoll_result_stdout_total(const struct plimsoll_result *result); /* bytes produced; more than were kept: truncated */
uint64_t plimsoll_result_stderr_total(const struct plimsoll_result *result); /* (exact but for runs that die: then up to 1 MiB less) */
int plimsoll_result_stdout_truncated(const struct plimsoll_result *result);
int plimsoll_result_stderr_truncated(const struct plimsoll_result *result);
int64_t plimsoll_result_duration_us(const struct plimsoll_result *result);  /* dispatch to end */
int64_t plimsoll_result_cpu_us(const struct plimsoll_result *result);       /* processor time of the guest in that run */
uint64_t plimsoll_result_peak_bytes(const struct plimsoll_result *result);  /* its greatest resident size */
int64_t plimsoll_result_timeout_ms(const struct plimsoll_result *result);   /* the limit in force, after clamping */
uint64_t plimsoll_result_memory_bytes(const struct plimsoll_result *result);
const struct plimsoll_evidence *plimsoll_result_evidence(const struct plimsoll_result *result);
void plimsoll_result_free(struct plimsoll_result *result);

/* What was measured. From plimsoll_measure it is the caller's to free; inside a result it belongs to that, and
 * plimsoll_evidence_free leaves it alone. */
enum plimsoll_tier plimsoll_evidence_tier(const struct plimsoll_evidence *evidence);
const char *plimsoll_evidence_wall(const struct plimsoll_evidence *evidence);
const char *plimsoll_evidence_policy(const struct plimsoll_evidence *evidence);   /* plimsoll-profile:sha256:… */
const char *plimsoll_evidence_instance(const struct plimsoll_evidence *evidence); /* plimsoll-evidence:sha256:… */
size_t plimsoll_evidence_facts_n(const struct plimsoll_evidence *evidence);
int plimsoll_evidence_fact(const struct plimsoll_evidence *evidence, size_t i, struct plimsoll_fact *ret); /* -ERANGE */
void plimsoll_evidence_free(struct plimsoll_evidence *evidence);

/* Looks at every wall that this build knows, configured or not, and at what the host offers. Rows are in a fixed order. */
struct plimsoll_doctor_row {
	const char *kind;   /* "wall" or "host" */
	const char *name;   /* "container"; "cgroup", "user namespaces", "ptrace scope", … */
	const char *state;  /* "ok", "limited", "unavailable" */
	const char *found;  /* what was found */
	const char *remedy; /* what to do, or "" */
};
int plimsoll_doctor(struct plimsoll_context *context, struct plimsoll_doctor **ret, struct plimsoll_error *error);
size_t plimsoll_doctor_rows_n(const struct plimsoll_doctor *doctor);
int plimsoll_doctor_row(const struct plimsoll_doctor *doctor, size_t i, struct plimsoll_doctor_row *ret); /* -ERANGE */
void plimsoll_doctor_free(struct plimsoll_doctor *doctor);

/* Names: "process" and so on; never NULL. plimsoll_tier_parse: -EINVAL for any other text than the four floors. */
const char *plimsoll_tier_name(enum plimsoll_tier tier);
int plimsoll_tier_parse(const char *text, enum plimsoll_tier *ret);
const char *plimsoll_reason_name(enum plimsoll_reason reason); /* "request" …; NONE is "" */

#ifdef __cplusplus
}
#endif
#endif
