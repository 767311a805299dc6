/* SPDX-License-Identifier: Apache-2.0 */
/* The lists. A row is added only with its reason, and with the narrowest condition on arguments that lets the program work: a
 * filter sees numbers, not what pointers point to, so a call whose danger lies behind a pointer (clone3, open) is not listed
 * at all. docs/seccomp.md is printed from here (test_filters --markdown). */
#include "wall/jail/filters.h"

#include "wire/vm.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define GET_XSAVE2 _IOR(KVMIO, 0xcf, struct kvm_xsave) /* KVM_GET_XSAVE2, Linux 5.17 */
#define SET_FS 0x1002 /* ARCH_SET_FS, of asm/prctl.h on x86-64 only */
#define FORK_FLAGS (CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD)
#define MAP_KIND (MAP_SHARED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_LOCKED | MAP_HUGETLB)

/* A row whatever the arguments are, on one condition, on two. Then conditions: argument i is v; the bits in mask are v. */
#define ANY(call, why) { call, 0, { { 0, 0, 0 } }, "", why }
#define ON(call, arg, text, why) { call, 1, { arg }, text, why }
#define ON2(call, arg, arg2, text, why) { call, 2, { arg, arg2 }, text, why }
#define IS(i, v) { i, UINT64_MAX, v }
#define BITS(i, mask, v) { i, mask, v }

/* What entering the program takes: the launcher loads the filter and then executes the image. */
#define ROW_EXEC                                                                                                       \
	ON2("execveat", IS(0, PL_LAUNCH_IMAGE_FD), IS(4, AT_EMPTY_PATH), "descriptor 4, no path",                          \
	    "The launcher's last call: the image, which the supervisor sealed. The descriptor closes with it.")

/* Anonymous memory without PROT_EXEC. That /tmp is mounted noexec closes the other way to code of one's own. */
#define ROWS_MEMORY                                                                                                    \
	ANY("brk", "The heap of the C library.")                                                                           \
	, ON2("mmap", BITS(2, PROT_EXEC, 0), BITS(3, MAP_KIND, MAP_PRIVATE | MAP_ANONYMOUS),                               \
	      "private, anonymous, not executable", "Memory for the engine."),                                             \
	ON("mprotect", BITS(2, PROT_EXEC, 0), "not executable", "The C library's start, and memory put to use later."),    \
	ANY("munmap", "Memory given back.")

#define ROWS_CLOCK                                                                                                     \
	ANY("clock_gettime", "The time, where the kernel's page for it is not mapped.")                                    \
	, ANY("gettimeofday", "The same.")

/* The flags are part of it: out-of-band bytes and peeking are corners of the kernel that nobody here needs. sendmsg and recvmsg are
 * not listed, since what is attached to a message (descriptors, credentials) lies behind a pointer. */
#define ROWS_STREAM(in, out)                                                                                           \
	ON2("recvfrom", IS(0, PL_GUEST_STREAM_FD), IS(3, 0), "descriptor 0, no flags", in)                                 \
	, ON2("sendto", IS(0, PL_GUEST_STREAM_FD), IS(3, MSG_NOSIGNAL), "descriptor 0, MSG_NOSIGNAL", out)

#define ROW_POLL ANY("ppoll", "Sleeping until a timer is due or the stream has something.")
#define ROW_EXIT ANY("exit_group", "The end.")

#define ROWS_START                                                                                                     \
	ON("arch_prctl", IS(0, SET_FS), "ARCH_SET_FS", "The C library's start: thread-local storage.")                     \
	, ANY("set_tid_address", "The C library's start.")

#define ROWS_NAME                                                                                                      \
	ON("prctl", IS(0, PR_SET_NAME), "PR_SET_NAME", "The task name that answers the challenge.")                        \
	, ON("prctl", IS(0, PR_GET_DUMPABLE), "PR_GET_DUMPABLE", "A statement in HELLO."),                                 \
	ON2("prctl", IS(0, PR_SET_DUMPABLE), IS(1, 0), "PR_SET_DUMPABLE 0",                                                \
	    "No other process of the same user may look into this one.")

static const struct pl_seccomp_row guest_rows[] = {
	ROW_EXEC,
	ROWS_START,
	ROWS_MEMORY,
	ANY("mremap", "Memory that grows."),
	ON("madvise", IS(2, MADV_DONTNEED), "MADV_DONTNEED", "Memory given back in part."),
	ON("madvise", IS(2, MADV_FREE), "MADV_FREE", "The same."),
	ROWS_NAME,
	ROWS_STREAM("The challenge and the job.", "Output and the result."),
	ROW_POLL,
	ROWS_CLOCK,
	ROW_EXIT,
};

static const struct pl_seccomp_row zygote_rows[] = {
	ROW_EXEC,
	ROWS_START,
	ROWS_MEMORY,
	ANY("mremap", "Memory that grows, before the first worker."),
	ON("madvise", IS(2, MADV_DONTNEED), "MADV_DONTNEED", "Memory given back in part."),
	ROWS_NAME,
	ON("recvmsg", IS(0, PL_GUEST_STREAM_FD), "descriptor 0", "The request for a worker, with the worker's stream."),
	ROW_POLL,
	ANY("rt_sigprocmask", "Ends of children are read, not delivered; and fork holds signals back."),
	ANY("signalfd4", "Ends of children as something to read."),
	ANY("read", "The same. Apart from it only the control socket is open."),
	ON("clone", IS(0, FORK_FLAGS), "the flags of fork", "A worker. The worker's own filter has no such row."),
	ANY("wait4", "How a worker ended."),
	ANY("close", "The zygote's copy of a worker's stream."),
	ANY("getpid", "The worker compares its parent."),
	ANY("getppid", "The same."),
	ON("dup2", IS(1, PL_GUEST_STREAM_FD), "onto descriptor 0", "A worker puts its stream in the control socket's place."),
	ON2("dup3", IS(1, PL_GUEST_STREAM_FD), IS(2, 0), "onto descriptor 0", "The same, where there is no dup2."),
	ON("close_range", IS(0, PL_GUEST_STREAM_FD + 1), "from descriptor 1", "A worker keeps its stream only."),
	ON("prctl", IS(0, PR_SET_PDEATHSIG), "PR_SET_PDEATHSIG", "A worker ends with its zygote."),
	ON2("prctl", IS(0, PR_SET_NO_NEW_PRIVS), IS(1, 1), "PR_SET_NO_NEW_PRIVS 1", "Before a worker's own filter."),
	ON2("prlimit64", IS(0, 0), IS(1, RLIMIT_NPROC), "itself, RLIMIT_NPROC", "A worker may have no child."),
	ON2("prlimit64", IS(0, 0), IS(2, 0), "itself, reading", "How much stack there is: a program that recurses is stopped before its end."),
	ON2("seccomp", IS(0, SECCOMP_SET_MODE_FILTER), IS(1, 0), "SECCOMP_SET_MODE_FILTER",
	    "A worker's own filter on top: it can only take away."),
	ROWS_STREAM("A worker: the challenge and the job.",
		    "What became of a request, and how a worker ended. A worker: output and the result."),
	ROWS_CLOCK,
	ROW_EXIT,
};

/* An ioctl of KVM; which descriptor it is made on does not matter, since the monitor has no other kind. */
/* The kernel takes the lower half; some C libraries hand it on with its sign spread over the upper. */
#define KVM(name, why) ON("ioctl", BITS(1, 0xffffffff, (uint32_t)(name)), #name, why)

static const struct pl_seccomp_row vmm_rows[] = {
	ROW_EXEC,
	ROWS_START,
	ANY("brk", "The heap of the C library."),
	ON("mmap", BITS(2, PROT_EXEC, 0), "not executable",
	   "The machine's memory and snapshot, and the page that the kernel shares about a vCPU."),
	ON("mprotect", BITS(2, PROT_EXEC, 0), "not executable", "The C library's start."),
	ANY("munmap", "Memory given back."),
	ON2("prctl", IS(0, PR_SET_DUMPABLE), IS(1, 0), "PR_SET_DUMPABLE 0",
	    "No other process of the same user may look into this one."),
	ON("prctl", IS(0, PR_GET_DUMPABLE), "PR_GET_DUMPABLE", "A statement in HELLO."),
	ON2("recvfrom", IS(0, PL_VMM_CONTROL_FD), IS(3, MSG_TRUNC), "descriptor 6, MSG_TRUNC", "The order."),
	ON2("sendto", IS(0, PL_VMM_CONTROL_FD), IS(3, MSG_NOSIGNAL), "descriptor 6, MSG_NOSIGNAL",
	    "That the machine is ready, or the snapshot made."),
	ANY("fstat", "How long snapshot and image are."),
	ANY("newfstatat", "The same, as some C libraries ask it."),
	ANY("pread64", "The registers in the snapshot."),
	ANY("close", "What made the machine is given up."),
	KVM(KVM_CREATE_VM, "The machine."),
	KVM(KVM_CHECK_EXTENSION, "How long the extended state is."),
	KVM(KVM_GET_VCPU_MMAP_SIZE, "How long the vCPU's page is."),
	KVM(KVM_GET_SUPPORTED_CPUID, "What the processor can do, to leave most of it out."),
	KVM(KVM_SET_USER_MEMORY_REGION, "The machine's memory. Gone with the monitor's own filter."),
	KVM(KVM_CREATE_VCPU, "Its processor."),
	KVM(KVM_SET_CPUID2, "What it says that it can do."),
	KVM(KVM_GET_TSC_KHZ, "How fast its time stamp counter runs."),
	KVM(KVM_GET_SREGS, "Making the snapshot: the first registers, and the last."),
	KVM(KVM_SET_SREGS, "The registers of the snapshot."),
	KVM(KVM_GET_REGS, "Making the snapshot."),
	KVM(KVM_SET_REGS, "The registers of the snapshot."),
	KVM(KVM_SET_FPU, "Making the snapshot: the first state of the floating point unit."),
	KVM(KVM_GET_XSAVE, "Making the snapshot."),
	KVM(GET_XSAVE2, "The same, where the state is longer."),
	KVM(KVM_SET_XSAVE, "The extended state of the snapshot."),
	KVM(KVM_GET_STATS_FD, "The statistics that the supervisor reads."),
	KVM(KVM_RUN, "The machine runs."),
	ON("rt_sigaction", IS(0, SIGALRM), "SIGALRM", "The deadline's signal."),
	ANY("rt_sigreturn", "After it."),
	ON2("seccomp", IS(0, SECCOMP_SET_MODE_FILTER), IS(1, 0), "SECCOMP_SET_MODE_FILTER",
	    "The monitor's own filter on top: it can only take away."),
	ROWS_STREAM("The challenge and the job.", "Output and the result."),
	ROW_POLL,
	ROWS_CLOCK,
	ANY("getpid", "The monitor stops itself at the deadline."),
	ON("kill", IS(1, SIGSTOP), "SIGSTOP", "The same."),
	ANY("restart_syscall", "The kernel's own, after the monitor was looked at."),
	ROW_EXIT,
};

static const struct pl_seccomp_row init_rows[] = {
	ANY("poll", "Waiting for the guest's end and for that of the control socket."),
	ANY("ppoll", "The same, where there is no poll."),
	ANY("restart_syscall", "The kernel's own: poll after it was stopped, frozen or looked at."),
	ANY("close", "The pipe on which the guest waits until its init is confined."),
	ANY("wait4", "How the guest ended."),
	ON2("sendto", IS(0, PL_LAUNCH_CONTROL_FD), IS(3, MSG_NOSIGNAL), "descriptor 3, MSG_NOSIGNAL", "The report of it."),
	ROW_EXIT,
};

#define LIST(rows) rows, sizeof rows / sizeof rows[0]

const struct pl_seccomp_list pl_guest_calls = {
	"guest", "plimsoll-guest in the container wall, from just before it is executed to its end", LIST(guest_rows)
};
const struct pl_seccomp_list pl_zygote_calls = {
	"zygote", "plimsoll-worker in the process wall: the zygote, and a worker until it loads its own smaller filter",
	LIST(zygote_rows)
};
const struct pl_seccomp_list pl_vmm_calls = {
	"vmm", "plimsoll-vmm in the microvm wall, until its machine is ready and it loads its own smaller filter", LIST(vmm_rows)
};
const struct pl_seccomp_list pl_init_calls = {
	"init", "plimsoll-launch as it waits, the init of a sandbox", LIST(init_rows)
};

static int compile(const struct pl_seccomp_list *list, struct pl_jail_filter *ret)
{
	char why[PL_SECCOMP_WHY_LEN];
	int n = pl_seccomp_compile(list, ret->insns, PL_JAIL_FILTER_MAX, why);

	if (n < 0)
		return n;
	ret->n = (uint32_t)n;
	return 0;
}

int pl_jail_filters_compile(struct pl_jail_filters *ret)
{
	int rc = compile(&pl_guest_calls, &ret->guest);

	if (rc == 0)
		rc = compile(&pl_zygote_calls, &ret->zygote);
	if (rc == 0)
		rc = compile(&pl_init_calls, &ret->init);
	if (rc == 0)
		rc = compile(&pl_vmm_calls, &ret->vmm);
	return rc;
}
