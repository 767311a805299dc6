/* SPDX-License-Identifier: Apache-2.0 */
/* plimsoll-vmm: one machine, in a process of its own, inside a jail that plimsoll-launch has built. Trusts the supervisor, which
 * started it, and nothing that comes out of the machine.
 *
 * Theory of operation. The order says what is wanted: to make the snapshot, or to run a machine that starts from it. For a run it
 * maps the sealed snapshot privately, makes the machine, gives up what made it (/dev/kvm, the machine's own descriptor, the
 * snapshot), locks itself with a filter that leaves KVM_RUN alone, says that it is ready, and from then on goes between the machine and
 * the stream: run, serve, run. At the deadline the supervisor sends SIGALRM: the vCPU leaves the processor, what the machine
 * had said is handed on, and the monitor stops itself, to be looked at and killed. */
#include "base/fd.h"
#include "build_id.h"
#include "guest/probes.h"
#include "linux/sys.h"
#include "vmm/kvm.h"
#include "vmm/lock.h"
#include "vmm/make.h"
#include "vmm/serve.h"
#include "vmm/stream.h"
#include "vmm/tables.h"
#include "vmm_break.h"
#include "wire/jail.h"

#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { EXIT_CRASHED = 65, EXIT_PROTOCOL = 70, EXIT_SYSTEM = 71 };

static struct pl_vm vm;
static struct pl_vm_serve serve;

static void deadline_came(int signal)
{
	(void)signal;
	pl_vm_deadline = 1;
	if (vm.run)
		vm.run->immediate_exit = 1;
}

static int order_take(struct pl_vmm_order *ret)
{
	ssize_t n = pl_sys_recv(PL_VMM_CONTROL_FD, ret, sizeof *ret, MSG_TRUNC);

	if (n < 0)
		return (int)n;
	if (n != sizeof *ret || memcmp(ret->build_id, PL_BUILD_ID, sizeof ret->build_id) != 0)
		return -EPROTO;
	return ret->memory_bytes < PL_VM_MEMORY_MIN || ret->memory_bytes > PL_VM_MEMORY_MAX ? -ERANGE : 0;
}

static int ready_send(int error, const char *step, uint64_t memory_bytes)
{
	struct pl_vmm_ready ready = { .error = error, .stats_fd = vm.stats_fd, .memory_bytes = memory_bytes };
	ssize_t n;

	strncpy(ready.step, step, sizeof ready.step - 1);
	n = pl_sys_send(PL_VMM_CONTROL_FD, &ready, sizeof ready, 0);
	return n < 0 ? (int)n : 0;
}

static int snapshot_state(struct pl_vm_state *ret)
{
	struct stat st;
	ssize_t n;
	int rc = pl_sys_fstat(PL_VMM_SNAPSHOT_FD, &st);

	if (rc < 0)
		return rc;
	n = pl_sys_pread(PL_VMM_SNAPSHOT_FD, ret, sizeof *ret, PL_VM_STATE);
	if (n != sizeof *ret)
		return n < 0 ? (int)n : -EIO;
	if (ret->magic != PL_VM_STATE_MAGIC || ret->used_end != (uint64_t)st.st_size || ret->used_end > PL_VM_MEMORY_MIN ||
	    ret->used_end % PL_VM_PAGE || ret->text_end % PL_VM_PAGE || ret->text_end <= PL_VM_IMAGE ||
	    ret->text_end >= ret->used_end)
		return -EINVAL;
	return 0;
}

static struct pl_vm_state state; /* the snapshot's: 17 KiB */

static int machine_make(const struct pl_vmm_order *order, const char **step)
{
	int rc;

	*step = "read snapshot";
	rc = snapshot_state(&state);
	if (rc == 0)
		rc = pl_vm_make(&vm, PL_VMM_KVM_FD, PL_VMM_SNAPSHOT_FD, state.used_end, 0, order->memory_bytes, step);
	if (rc < 0)
		return rc;
	*step = "set memory";
	pl_vm_tables_extend(vm.memory, vm.memory_bytes);
	rc = pl_vm_slots(&vm, state.text_end);
	if (rc < 0)
		return rc;
	*step = "restore state";
	rc = pl_vm_state_set(&vm, &state);
	if (rc < 0)
		return rc;
	*step = "open statistics";
	vm.stats_fd = (int)PL_SYS("ioctl", ioctl(vm.vcpu_fd, (int)KVM_GET_STATS_FD, 0));
	return vm.stats_fd < 0 ? vm.stats_fd : 0;
}

/* What made the machine is given up, so that it cannot be made another. */
static int made_give_up(const char **step)
{
	struct sigaction action = { .sa_handler = deadline_came };
	int rc;

	*step = "watch the deadline";
	rc = (int)PL_SYS("rt_sigaction", sigaction(SIGALRM, &action, NULL));
	if (rc < 0)
		return rc;
	pl_fd_close(&vm.vm_fd);
	if (!pl_sabotage("kept kvm"))
		close(PL_VMM_KVM_FD);
	close(PL_VMM_SNAPSHOT_FD);
	return 0;
}

/* First the launcher's filter is tried, then the smaller one comes on top. */
static int lock(void)
{
	static struct sock_filter insns[PL_VMM_LOCK_MAX];
	struct sock_fprog program = { .filter = insns };
	struct pl_probe_counts probes;
	int rc = pl_sys_prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);

	if (rc < 0)
		return rc;
	serve.dumpable = (uint8_t)rc;
	pl_probes_run(&probes);
	serve.probes_tried = probes.tried;
	serve.probes_denied = probes.denied;
	serve.landlock_denied = probes.landlock_denied;
	if (pl_sabotage("no lock"))
		return 0;
	program.len = (unsigned short)pl_vmm_lock_compile(insns);
	return (int)PL_SYS("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

/* Stands still until it is killed; one that is told to go on stops again. */
static _Noreturn void stand_still(void)
{
	(void)pl_vm_serve_rest(&serve);
	for (;;)
		(void)kill(getpid(), SIGSTOP);
}

/* However it ended: what it had said before still counts, if it is well formed. */
static _Noreturn void crashed(void)
{
	_exit(pl_vm_serve_rest(&serve) == PL_VM_END ? 0 : EXIT_CRASHED);
}

/* In test builds: a monitor that needs no machine to say what the image would have said. */
static void interpret(void)
{
	struct kvm_run run = { .exit_reason = KVM_EXIT_IO };

	run.io.direction = KVM_EXIT_IO_OUT;
	run.io.size = 4;
	run.io.count = 1;
	run.io.port = PL_VM_PORT_RECEIVE;
	(void)pl_vm_serve(&serve, &run);
	pl_break_hello(serve.shared);
	(void)pl_vm_serve(&serve, &run);
	_exit(0);
}

static _Noreturn void machine_run(void)
{
	if (pl_sabotage("kvm.exits"))
		interpret();
	for (;;) {
		int rc = pl_vm_run(&vm);

		if (rc == -EINTR || rc == -EAGAIN) {
			if (pl_vm_deadline)
				stand_still();
			continue;
		}
		if (rc < 0)
			crashed();
		if (serve.phase == PL_VM_WORKING && pl_sabotage("a slot more"))
			(void)ioctl(vm.vcpu_fd, (int)KVM_SET_USER_MEMORY_REGION, 0);
		switch (pl_vm_serve(&serve, vm.run)) {
		case PL_VM_RESUME:
			break;
		case PL_VM_END:
			_exit(0);
		case PL_VM_HALT:
			stand_still();
		case PL_VM_DESTROY:
			crashed();
		}
	}
}

static _Noreturn void run(const struct pl_vmm_order *order)
{
	const char *step;
	int rc = machine_make(order, &step);

	serve = (struct pl_vm_serve){
		.world = &pl_vm_stream_world,
		.shared = vm.memory + PL_VM_SHARED,
		.memory_bytes = pl_vm_heap_end(order->memory_bytes),
		.text_end = state.text_end,
		.tsc_khz = vm.tsc_khz,
	};
	if (rc == 0)
		rc = made_give_up(&step);
	/* The supervisor looks at the statistics once before it challenges, and measures everything else after HELLO. */
	if (ready_send(rc, rc < 0 ? step : "", vm.slots_bytes) < 0 || rc < 0)
		_exit(EXIT_SYSTEM);
	close(PL_VMM_CONTROL_FD);
	if (lock() < 0)
		_exit(EXIT_SYSTEM);
	machine_run();
}

static _Noreturn void make(void)
{
	const char *step;
	uint64_t len = 0;
	int rc = pl_vm_snapshot_make(&len, &step);

	(void)ready_send(rc, rc < 0 ? step : "", len);
	_exit(rc < 0 ? EXIT_SYSTEM : 0);
}

int main(int argc, char **argv)
{
	struct pl_vmm_order order;

	pl_fault_set("vmm", argc > 2 ? argv[2] : NULL);
	if (pl_sys_prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || order_take(&order) < 0)
		return EXIT_PROTOCOL;
	if (order.mode == PL_VMM_MAKE)
		make();
	run(&order);
}
