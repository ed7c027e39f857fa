"""Changes to a model without which no output of it could be judged; each is told in a note."""
import torch

FILL = 0.1  # standard deviation of what takes the place of zeros


def stop_randomness(model, notes):
    """Dropout and its like cannot be compared: off, whatever the mode of the rest."""
    stopped = []
    for name, module in model.named_modules():
        is_dropout = isinstance(module, torch.nn.modules.dropout._DropoutNd) and module.p > 0
        if (is_dropout or isinstance(module, torch.nn.RReLU)) and module.training:
            module.eval()
            stopped.append(name or type(module).__name__)
        # Recurrent layers and attention keep their rate in an attribute of their own.
        inner = isinstance(module, (torch.nn.RNNBase, torch.nn.MultiheadAttention))
        if inner and isinstance(module.dropout, float) and module.dropout > 0 and module.training:
            module.dropout = 0.0
            stopped.append(name or type(module).__name__)
    if stopped:
        notes.append(f"random layers are switched off: {', '.join(stopped[:6])}"
                     f"{' ...' if len(stopped) > 6 else ''}")
    if any(m.training and isinstance(m, torch.nn.modules.batchnorm._BatchNorm) for m in model.modules()):
        notes.append("batch normalisation runs in training mode, as the file has it: it uses the "
                     "statistics of the batch; the running ones are set back after each run")


def fill_zeros(model, seed, notes):
    """Learned values that are all zero make work that a candidate could leave out unseen: a bias that is
    not added, a branch that is not taken. Zero is only where training would begin, so they are filled
    with small random numbers, which the candidate is given like every parameter. Learned are floating
    parameters, and the running mean of a normalisation that reads it (in evaluation mode). Other
    buffers and tensors belong to the definition (a mask, a first state): they stay, and are told."""
    filled, left, seen = [], [], {id(tensor) for tensor in _unread(model)}
    generator = None
    for name, tensor in _learned(model):
        seen.add(id(tensor))
        if not tensor.is_floating_point() or tensor.numel() == 0 or bool(tensor.any()):
            continue
        if generator is None:
            generator = torch.Generator(tensor.device)
            generator.manual_seed(seed)
        with torch.no_grad():
            noise = torch.empty(tensor.shape, device=tensor.device).normal_(0.0, FILL, generator=generator)
            tensor.copy_(noise)
        filled.append(name)
    for prefix, module in model.named_modules():
        for where in (module._buffers, vars(module)):
            for name, tensor in where.items():
                whole = f"{prefix}.{name}" if prefix else name
                is_floating = isinstance(tensor, torch.Tensor) and tensor.is_floating_point()
                if is_floating and id(tensor) not in seen and tensor.numel() and not bool(tensor.any()):
                    left.append(whole)
    if filled:
        notes.append(f"parameters that are all zero are filled with small random values: {_some(filled)}")
    if left:
        notes.append(f"all zero, and left so, for they belong to the definition: {_some(left)}; a candidate "
                     "that does not read them passes")


def _learned(model):
    yield from model.named_parameters()
    for prefix, module in model.named_modules():
        if _has_running_mean(module) and not module.training:
            yield f"{prefix}.running_mean" if prefix else "running_mean", module.running_mean


def _unread(model):
    """Running means in training mode: whatever they are, no output changes."""
    return [m.running_mean for m in model.modules() if _has_running_mean(m) and m.training]


def _has_running_mean(module):
    is_norm = isinstance(module, torch.nn.modules.batchnorm._NormBase)
    return is_norm and module.running_mean is not None


def _some(names):
    return f"{', '.join(names[:6])}{' ...' if len(names) > 6 else ''}"
