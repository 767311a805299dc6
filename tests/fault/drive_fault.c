/* SPDX-License-Identifier: Apache-2.0 */
/* drive_fault: started by test_fault.py with a folder of its own, in which the helpers of a test build are. */
#include "drive_fault.h"

int main(int argc, char **argv)
{
	watch_init();
	return sweep(argc, argv);
}
