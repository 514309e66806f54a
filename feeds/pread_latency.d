#!/usr/sbin/dtrace -s
/*
 * Latency of pread system calls as PyLatencyMap records, one each second.
 * Usage: dtrace -qs feeds/pread_latency.d | iowhy map -
 * A bucket is the power of two at or below the latency in nanoseconds; counts are cumulative.
 */
#pragma D option quiet

syscall::pread*:entry
{
	self->begun = timestamp;
}

syscall::pread*:return
/self->begun/
{
	/* All bits below the highest one are set, then halved away. */
	this->v = timestamp - self->begun;
	this->v |= this->v >> 1;
	this->v |= this->v >> 2;
	this->v |= this->v >> 4;
	this->v |= this->v >> 8;
	this->v |= this->v >> 16;
	this->v |= this->v >> 32;
	@reads[this->v - (this->v >> 1)] = count();
	self->begun = 0;
}

tick-1s
{
	printf("<begin record>\ntimestamp,microsec,%d,%Y\n", walltimestamp / 1000, walltimestamp);
	printf("label,pread\nlatencyunit,nanosec\ndatasource,dtrace\n");
	printa("%d,%@d\n", @reads);
	printf("<end record>\n");
}
