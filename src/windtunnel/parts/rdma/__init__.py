"""RDMA: a wire whose queues are endpoints of an RDMA library in the place of an ethdev: of libfabric, or of libibverbs with librdmacm.

The wire is in the engine (engine/parts/rdma), in a folder for each transport behind `rdma.h`. It knows which mbufs a library has, and nothing
of messages except to make the response of a READ. Its descriptor says all that the spine needs; here is what Python has beside it: facts and
findings about the host's RDMA devices and libfabric's providers, and the verdict on operations that moved other bytes than those of their place.
"""
