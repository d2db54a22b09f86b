"""The base of the library's own derivatives: how they behave under `torch.func.vmap`."""

from typing import Any

from torch import Tensor
from torch.autograd import Function


class BatchedFunction(Function):
    """A Function whose tensors share their leading dimensions, so that `vmap` may add one more.

    The forward then always runs on plain tensors and may work in place. The backward may not:
    `vmap` over cotangents runs it on batched tensors.

    `torch.func.hessian` needs a jvp, `torch.compile` refuses a Function that has one. So each
    Function comes as two classes, and the jvp is in the derived one.
    """

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[int | None, ...], *args: Tensor | None) -> Any:
        """Move the mapped dimension to the front of every argument, adding it where missing."""
        moved = (
            arg if arg is None or dim is None else arg.movedim(dim, 0)
            for arg, dim in zip(args, in_dims, strict=True)
        )
        outputs = cls.apply(
            *(
                arg.expand(info.batch_size, *arg.shape) if dim is None and arg is not None else arg
                for arg, dim in zip(moved, in_dims, strict=True)
            )
        )
        return outputs, (0,) * len(outputs) if isinstance(outputs, tuple) else 0
