"""python -m windtunnel.schemas: writes every generated file of the checkout but those of `windtunnel_sharing`, which has its own."""

from windtunnel.schemas.generate import generated, write

write(generated())
