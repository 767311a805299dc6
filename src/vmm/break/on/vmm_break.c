/* SPDX-License-Identifier: Apache-2.0 */
/* vmm_break: the right answer without a machine: a monitor that interprets instead of using KVM. Its HELLO is as good as the
 * image's; the kernel's count of exits is not. */
#include "vmm_break.h"

#include "base/digest.h"
#include "build_id.h"
#include "wire/vm.h"

#include <stddef.h>
#include <string.h>

void pl_break_hello(uint8_t *shared)
{
	static const char label[] = "plimsoll-hello-1", hex[] = "0123456789abcdef", id[] = PL_BUILD_ID;
	uint8_t *out = shared + (PL_VM_OUT - PL_VM_SHARED);
	uint32_t len = PL_FRAME_HEADER_LEN + PL_HELLO_LEN;
	struct pl_vm_header header;
	struct pl_hello hello = { 0 };
	struct pl_digest digest;

	memcpy(&header, shared, sizeof header);
	hello.probes_tried = header.probes_tried;
	hello.probes_denied = header.probes_denied;
	for (size_t i = 0; i < PL_IMAGE_ID_LEN; i++)
		hello.image_id[i] = (uint8_t)((strchr(hex, id[2 * i]) - hex) << 4 | (strchr(hex, id[2 * i + 1]) - hex));
	pl_digest_init(&digest);
	pl_digest_bytes(&digest, label, sizeof label - 1);
	pl_digest_bytes(&digest, shared + (PL_VM_IN - PL_VM_SHARED), PL_CHALLENGE_LEN);
	pl_digest_bytes(&digest, hello.image_id, PL_IMAGE_ID_LEN);
	pl_digest_end(&digest, hello.digest);
	pl_frame_header_print(out, PL_FRAME_HELLO, PL_HELLO_LEN);
	pl_hello_print(out + PL_FRAME_HEADER_LEN, &hello);
	memcpy(shared + offsetof(struct pl_vm_header, out_len), &len, sizeof len);
}
