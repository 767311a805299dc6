/* SPDX-License-Identifier: Apache-2.0 */
/* cancel: a trigger is an eventfd that is written and never read, so that it stays triggered for every run that was given
 * it; see plimsoll.h. */
#include "context.h"

#include "base/alloc.h"
#include "contract/error.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int plimsoll_cancel_new(struct plimsoll_cancel **ret, struct plimsoll_error *error)
{
	struct plimsoll_cancel *cancel;
	int rc;

	if (!ret)
		return pl_error(error, PLIMSOLL_ERROR_INVALID, PLIMSOLL_REASON_REQUEST, "make cancel trigger", "ret is NULL");
	cancel = pl_malloc(sizeof *cancel);
	if (!cancel)
		return pl_error(error, -ENOMEM, PLIMSOLL_REASON_ENVIRONMENT, "make cancel trigger", "no memory");
	cancel->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (cancel->fd < 0) {
		rc = -errno;
		pl_free(cancel);
		return pl_error(error, rc, PLIMSOLL_REASON_ENVIRONMENT, "make cancel trigger", "eventfd: %s",
				strerrordesc_np(-rc));
	}
	*ret = cancel;
	return 0;
}

/* In signal handlers: one system call, and errno is as it was. */
void plimsoll_cancel_trigger(struct plimsoll_cancel *cancel)
{
	uint64_t one = 1;
	int saved = errno;
	ssize_t n;

	if (!cancel)
		return;
	do
		n = write(cancel->fd, &one, sizeof one);
	while (n < 0 && errno == EINTR);
	errno = saved;
}

void plimsoll_cancel_free(struct plimsoll_cancel *cancel)
{
	if (!cancel)
		return;
	close(cancel->fd);
	pl_free(cancel);
}
