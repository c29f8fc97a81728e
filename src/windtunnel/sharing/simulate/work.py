"""Requests of a tenant that blocks, one after the other: when its queue is empty it gives up the core, so here they are events."""

from dataclasses import dataclass


@dataclass
class Work:
    """Requests in the order of arrival, ns; `next` is the first that is not done, `rest` what it still needs (None: all of it)."""

    arrived: list[int]
    service: list[int]
    next: int = 0
    rest: int | None = None

    def until_empty(self, begin: int) -> int:
        """When the queue is empty if the tenant runs from `begin` on without an end."""
        now, n, rest = begin, self.next, self.rest
        while n < len(self.arrived) and self.arrived[n] <= now:
            now += self.service[n] if rest is None else rest
            n, rest = n + 1, None
        return now

    def serve(self, begin: int, end: int) -> None:
        """The tenant ran from `begin` to `end`."""
        now = begin
        while self.next < len(self.arrived) and self.arrived[self.next] <= now < end:
            need = self.service[self.next] if self.rest is None else self.rest
            if now + need > end:
                self.rest = need - (end - now)
                return
            now += need
            self.next, self.rest = self.next + 1, None
