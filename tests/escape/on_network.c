/* SPDX-License-Identifier: Apache-2.0 */
/* on_network: sockets of every family, and connections to canaries of the host's: a port on its loopback, a name in its abstract
 * space. */
#include "escape/hostile.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_alg.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define FAMILY(name, domain, type, protocol)                                                                           \
	static long socket_##name(int argc, char **argv)                                                                   \
	{                                                                                                                  \
		(void)argc, (void)argv;                                                                                        \
		return hostile_got(SYS(SYS_socket, domain, type, protocol));                                                   \
	}
FAMILY(inet, AF_INET, SOCK_STREAM, 0)
FAMILY(udp, AF_INET, SOCK_DGRAM, 0)
FAMILY(inet6, AF_INET6, SOCK_STREAM, 0)
FAMILY(unix, AF_UNIX, SOCK_STREAM, 0)
FAMILY(raw, AF_INET, SOCK_RAW, 1)
FAMILY(netlink, AF_NETLINK, SOCK_RAW, 0)
FAMILY(packet, AF_PACKET, SOCK_RAW, 0)
FAMILY(vsock, AF_VSOCK, SOCK_STREAM, 0)
FAMILY(alg, AF_ALG, SOCK_SEQPACKET, 0)

static long connect_to(int domain, const void *address, size_t len)
{
	long fd = SYS(SYS_socket, domain, SOCK_STREAM, 0), r;

	r = SYS(SYS_connect, fd < 0 ? 0 : fd, address, len);
	(void)hostile_got(fd);
	return r;
}

static long connect_port(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)hostile_number(argv[1])) };

	(void)argc;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return connect_to(AF_INET, &address, sizeof address);
}

static long connect_abstract(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)argc;
	strncpy(address.sun_path + 1, argv[1], sizeof address.sun_path - 2);
	return connect_to(AF_UNIX, &address, sizeof(sa_family_t) + 1 + strlen(argv[1]));
}

static long bind_port(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	long fd = SYS(SYS_socket, AF_INET, SOCK_STREAM, 0), r;

	(void)argc, (void)argv;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	r = SYS(SYS_bind, fd < 0 ? 0 : fd, &address, sizeof address);
	(void)hostile_got(fd);
	return r;
}

static long socketpair_(int argc, char **argv)
{
	int pair[2];
	long r = SYS(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, pair);

	(void)argc, (void)argv;
	if (r == 0) {
		(void)hostile_got(pair[0]);
		(void)hostile_got(pair[1]);
	}
	return r;
}

/* The one descriptor that there is: whose peer it has, what it can be told. Outside it is a socket as well. */
static long getpeername_(int argc, char **argv)
{
	struct sockaddr_un address;
	socklen_t len = sizeof address;

	(void)argc, (void)argv;
	return SYS(SYS_getpeername, 0, &address, &len);
}

static long peer_credentials(int argc, char **argv)
{
	struct ucred cred;
	socklen_t len = sizeof cred;

	(void)argc, (void)argv;
	return SYS(SYS_getsockopt, 0, SOL_SOCKET, SO_PEERCRED, &cred, &len);
}

static long setsockopt_(int argc, char **argv)
{
	int size = 1 << 20;

	(void)argc, (void)argv;
	return SYS(SYS_setsockopt, 0, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

static long shutdown_(int argc, char **argv)
{
	(void)argc, (void)argv;
	return SYS(SYS_shutdown, 0, SHUT_WR);
}

static long close_stream(int argc, char **argv)
{
	(void)argc, (void)argv;
	return SYS(SYS_close, 0);
}

static long ioctl_(int argc, char **argv)
{
	int n;

	(void)argc, (void)argv;
	return SYS(SYS_ioctl, 0, 0x541b /* FIONREAD */, &n);
}

static long fcntl_dup(int argc, char **argv)
{
	(void)argc, (void)argv;
	return hostile_got(SYS(SYS_fcntl, 0, 0 /* F_DUPFD */, 10));
}

static long write_stream(int argc, char **argv)
{
	(void)argc, (void)argv;
	return SYS(SYS_write, 0, "", 0);
}

const struct probe network_probes[] = {
	{ "socket-inet", socket_inet },
	{ "socket-udp", socket_udp },
	{ "socket-inet6", socket_inet6 },
	{ "socket-unix", socket_unix },
	{ "socket-raw", socket_raw },
	{ "socket-netlink", socket_netlink },
	{ "socket-packet", socket_packet },
	{ "socket-vsock", socket_vsock },
	{ "socket-alg", socket_alg },
	{ "socketpair", socketpair_ },
	{ "connect-port", connect_port },
	{ "connect-abstract", connect_abstract },
	{ "bind", bind_port },
	{ "getpeername", getpeername_ },
	{ "getsockopt-peercred", peer_credentials },
	{ "setsockopt", setsockopt_ },
	{ "shutdown", shutdown_ },
	{ "close-stream", close_stream },
	{ "ioctl", ioctl_ },
	{ "fcntl-dup", fcntl_dup },
	{ "write", write_stream },
	{ NULL, NULL },
};
