"""Typical answers to exercise 2, right and wrong."""

import numpy as np
import torch

from fedlab_grade.mutants import edits, include, right, wrong


@right
class autograd:
    """Every gradient by automatic differentiation; the answers stay part of a graph."""

    def gradient_of(loss, at):
        at = at.clone().requires_grad_()
        return torch.autograd.grad(loss(at), at)[0]

    def scaffold_local(x, control_i, control, lr, steps, gradient):
        y = x.clone().requires_grad_()
        for _ in range(steps):
            y = y - lr * (gradient(y.detach()) - control_i + control)
        print("y", y)
        return y, control_i - control + (x - y) / (steps * lr)

    def scaffold_server(x, control, ys, new_controls, old_controls, server_lr, clients):
        mean_y = gradient_of(lambda v: (ys @ v).mean(), x)
        total = gradient_of(lambda v: ((new_controls - old_controls) @ v).sum(), x)
        return x + server_lr * (mean_y - x), control + total / clients

    def feddyn_server(w, W, h, alpha, clients):
        h = h - alpha / clients * sum(w_i - w for w_i in W)
        # the minimum of alpha/2 |v - mean|^2 + <h, v>, one Newton step from w away
        slope = gradient_of(lambda v: alpha / 2 * ((v - W.mean(0)) ** 2).sum() + h @ v, w)
        return w - slope / alpha, h

    def maml_gradient(w, A_train, mu_train, A_val, mu_val, lr, steps):
        start = w.clone().requires_grad_()
        adapted = start
        for _ in range(steps):
            adapted = adapted - lr * A_train @ (adapted - mu_train)
        loss = (adapted - mu_val) @ A_val @ (adapted - mu_val) / 2
        (meta_gradient,) = torch.autograd.grad(loss, start)
        return adapted, meta_gradient


@right
class long:
    """Entry by entry and client by client, with helpers and prints of the student's own."""

    def mean(rows):
        total = torch.zeros_like(rows[0])
        for row in rows:
            total += row
        return total / len(rows)

    def scaffold_local(x, control_i, control, lr, steps, gradient):
        path = [x]
        for k in range(steps):
            print("step", k)
            corrected = gradient(path[-1]).clone()
            corrected -= control_i
            corrected += control
            path.append(path[-1] - lr * corrected)
        y = path[-1]
        new_control_i = control_i.clone()
        new_control_i -= control
        new_control_i += (x - y) / steps / lr
        return y, new_control_i

    def scaffold_server(x, control, ys, new_controls, old_controls, server_lr, clients):
        control = control.clone()
        for new, old in zip(new_controls, old_controls, strict=True):
            control += (new - old) / clients
        x = (1 - server_lr) * x + server_lr * mean(ys)
        return x, control

    def feddyn_server(w, W, h, alpha, clients):
        moved = 0
        for w_i in W:
            moved = moved + (w_i - w)
        h = h - alpha * moved / clients
        w = mean(W) - h / alpha
        return (w, h)

    def maml_gradient(w, A_train, mu_train, A_val, mu_val, lr, steps):
        w_k, jacobian = w.numpy(), np.eye(len(w))
        step = np.eye(len(w)) - lr * A_train.numpy()
        for _ in range(steps):
            w_k = w_k - lr * A_train.numpy() @ (w_k - mu_train.numpy())
            jacobian = step @ jacobian
        meta_gradient = jacobian.T @ A_val.numpy() @ (w_k - mu_val.numpy())
        return torch.from_numpy(w_k.copy()), torch.from_numpy(meta_gradient)

    if __name__ == "__main__":
        print("this is not run by the check")


@right
class short:
    """Formulas multiplied out, names reused, and each question in one or two expressions."""

    def scaffold_local(x, control_i, control, lr, steps, gradient):
        drift, y, seen = control - control_i, x, 0
        for _ in range(steps):
            g = gradient(y)
            y, seen = y - lr * (g + drift), seen + g
        return [y, seen / steps]  # the mean of the gradients is the same as the question's formula

    def scaffold_server(x, c, ys, new, old, server_lr, clients):
        return torch.lerp(x, ys.mean(0), server_lr), c + (new.sum(0) - old.sum(0)) / clients

    def feddyn_server(w, W, h, alpha, m):
        h = h + alpha * len(W) / m * (w - W.mean(0))
        return W.mean(0) - h / alpha, h

    def maml_gradient(w, A, mu, A_val, mu_val, lr, steps):
        J = torch.linalg.matrix_power(torch.eye(len(w)).double() - lr * A, steps)
        adapted = mu + J @ (w - mu)
        return adapted, (adapted - mu_val) @ A_val @ J


@edits("ex02.1", {
    "control not by lr": ("not divided by lr", "(steps * lr)", "steps"),
    "control not by steps": ("not divided by the number of steps", "(steps * lr)", "lr"),
    "control option one": ("option I: the question asks",
        "control_i - control + (x - y) / (steps * lr)", "gradient(x)"),
    "control sign": ("x - y, not y - x", "(x - y)", "(y - x)"),
    "control times lr": (r"a / K \* lr", "(steps * lr)", "steps * lr"),
    "control without c": ("c is not subtracted", "- control +", "+"),
    "local corrected at the end": ("added only once, at the end",
        "(gradient(y) - control_i + control)", "gradient(y)\n    y -= lr * (control - control_i)"),
    "local gradients at x": ("every gradient is taken at x", "(y) -", "(x) -"),
    "local in place": (r"changed its argument x\b.*\.clone\(\)", ".clone()", ""),
    "local one step": ("only one step",
        "for _ in range(steps):\n        y -= lr * (gradient(y) - control_i + control)",
        "y -= lr * (gradient(y) - control_i + control)"),
    "local one value": ("expected the 2 values y, new_control_i.*return y, new_control_i",
        ", control_i - control + (x - y) / (steps * lr)", ""),
    "local sign": ("correction has the wrong sign", "- control_i +", "+ control_i -"),
    "local uncorrected": ("correction is missing: each gradient",
        "(gradient(y) - control_i + control)", "gradient(y)"),
    "local without lr": ("correction is not multiplied by lr",
        "-= lr * (gradient(y) - control_i + control)",
        "= y - lr * gradient(y) + control_i - control"),
})  # fmt: skip
def scaffold_local(x, control_i, control, lr, steps, gradient):
    y = x.clone()
    for _ in range(steps):
        y -= lr * (gradient(y) - control_i + control)
    return y, control_i - control + (x - y) / (steps * lr)


@wrong("ex02.1", "control x overwritten", "x - y is zero here: x must stay")
def scaffold_local(x, control_i, control, lr, steps, gradient):
    for _ in range(steps):
        x = x - lr * (gradient(x) - control_i + control)
    y = x
    return y, control_i - control + (x - y) / (steps * lr)


@wrong("ex02.1", "local first step only", "only in the first step")
def scaffold_local(x, control_i, control, lr, steps, gradient):
    y = x.clone()
    y -= lr * (gradient(y) - control_i + control)
    for _ in range(steps - 1):
        y -= lr * gradient(y)
    return y, control_i - control + (x - y) / (steps * lr)


@edits("ex02.2", {
    "server control by round": ("mean over the clients of the round: divide the sum by N",
        "/ clients", "/ len(ys)"),
    "server control not divided": ("divide their sum by N", "/ clients", ""),
    "server lr in control": ("server_lr is for the model only", "+ change", "+ server_lr * change"),
    "server mean of models": ("take the mean of the changes", "(ys.mean(0) - x)", "ys.mean(0)"),
    "server model by all": ("the model takes the mean over the clients of the round",
        "(ys.mean(0) - x)", "(ys - x).sum(0) / clients"),
    "server model not divided": ("take their mean over the round", ".mean(0) - x", "- x).sum(0"),
    "server no lr": ("server_lr is missing", "x + server_lr * (ys.mean(0) - x)", "ys.mean(0)"),
    "server old not subtracted": ("old c_i are not subtracted",
        "(new_controls - old_controls)", "new_controls"),
})  # fmt: skip
def scaffold_server(x, control, ys, new_controls, old_controls, server_lr, clients):
    change = (new_controls - old_controls).sum(0)
    return x + server_lr * (ys.mean(0) - x), control + change / clients


@wrong("ex02.2", "server in place", r"changed its argument control\b.*\.clone\(\)")
def scaffold_server(x, control, ys, new_controls, old_controls, server_lr, clients):
    control += (new_controls - old_controls).sum(0) / clients
    return x + server_lr * (ys.mean(0) - x), control


@wrong("ex02.2", "server mean of controls", "mean of the new c_i of the round")
def scaffold_server(x, control, ys, new_controls, old_controls, server_lr, clients):
    return x + server_lr * (ys.mean(0) - x), new_controls.mean(0)


@edits("ex02.3", {
    "dyn by round": ("divides by the clients of the round: m is", "/ clients", "/ len(W)"),
    "dyn h not by alpha": ("h is not divided by alpha", "/ alpha", ""),
    "dyn h sign": ("the sign is wrong: subtract", " = h -", " = h +"),
    "dyn in place": (r"changed its argument h\b.*\.clone\(\)", " = h -", " -="),
    "dyn mean by all": ("sum of the w_i is divided by m", "mean(0)", "sum(0) / clients"),
    "dyn mean of changes": ("this takes the mean of the w_i - w", ").sum(", ").mean("),
    "dyn no alpha": ("alpha is missing", " alpha *", ""),
    "dyn not divided": ("not divided by m", "/ clients", ""),
    "dyn plain mean": ("h/alpha is missing", "- h / alpha", ""),
    "dyn plus h": ("h/alpha has the wrong sign", " - h /", " + h /"),
    "dyn sum of models": ("the sum is over w_i", "(W - w)", "W"),
    "dyn swapped": ("the two values are swapped",
        "W.mean(0) - h / alpha, h", "h, W.mean(0) - h / alpha"),
})  # fmt: skip
def feddyn_server(w, W, h, alpha, clients):
    h = h - alpha * (W - w).sum(0) / clients
    return W.mean(0) - h / alpha, h


@wrong("ex02.3", "dyn next w", "h comes first, with the w that the clients received")
def feddyn_server(w, W, h, alpha, clients):
    w = W.mean(0) - h / alpha
    return w, h - alpha * (W - w).sum(0) / clients


@wrong("ex02.3", "dyn old h", "uses the old h")
def feddyn_server(w, W, h, alpha, clients):
    new_h = h - alpha * (W - w).sum(0) / clients
    return W.mean(0) - h / alpha, new_h


@edits("ex02.4", {
    "maml adapts on val": ("adapts on the validation loss",
        "A_train @ (w - mu_train)", "A_val @ (w - mu_val)"),
    "maml first order": ("first-order gradient",
        "\n    for _ in range(steps):\n        meta = meta - lr * A_train @ meta", ""),
    "maml in place": (r"changed its argument w\b.*\.clone\(\)", " = w -", " -="),
    "maml jacobian of val": ("has A_train in it, not A_val", "A_train @ meta", "A_val @ meta"),
    "maml no lr": ("lr is missing in the Jacobian", "meta - lr *", "meta -"),
    "maml one jacobian": ("one Jacobian I - lr A_train is there",
        "for _ in range(steps):\n        meta = meta - lr * A_train @ meta",
        "meta = meta - lr * A_train @ meta"),
    "maml one step": ("only one step of adaptation",
        "for _ in range(steps):\n        w = w - lr * A_train @ (w - mu_train)",
        "w = w - lr * A_train @ (w - mu_train)"),
    "maml entry by entry": ("a matrix times a vector is A @ v",
        "A_train @ (w - mu_train)", "A_train * (w - mu_train)"),
    "maml last entry by entry": ("the last gradient is multiplied entry by entry",
        "A_val @", "A_val *"),
    "maml plus": ("Jacobian has the wrong sign", "meta -", "meta +"),
    "maml steps times lr": ("I - K lr A_train",
        "for _ in range(steps):\n        meta = meta - lr * A_train @ meta",
        "meta = meta - steps * lr * A_train @ meta"),
    "maml train gradient": ("that of the training loss: use A_val",
        "A_val @ (w - mu_val)", "A_train @ (w - mu_train)"),
})  # fmt: skip
def maml_gradient(w, A_train, mu_train, A_val, mu_val, lr, steps):
    for _ in range(steps):
        w = w - lr * A_train @ (w - mu_train)
    meta = A_val @ (w - mu_val)
    for _ in range(steps):
        meta = meta - lr * A_train @ meta
    return w, meta


@edits("ex02.4", {
    "maml one minus": ("has the identity matrix, torch.eye",
        "torch.eye(len(w), dtype=w.dtype)", "1"),
    "maml power of entries": (r"\*\* is no product of matrices",
        "torch.linalg.matrix_power(J, steps)", "J**steps"),
})  # fmt: skip
def maml_gradient(w, A_train, mu_train, A_val, mu_val, lr, steps):
    for _ in range(steps):
        w = w - lr * A_train @ (w - mu_train)
    meta = A_val @ (w - mu_val)
    J = torch.eye(len(w), dtype=w.dtype) - lr * A_train
    return w, torch.linalg.matrix_power(J, steps) @ meta


@wrong("ex02.4", "maml gradient at w", "is taken at w: take it at the adapted model")
def maml_gradient(w, A_train, mu_train, A_val, mu_val, lr, steps):
    adapted = w.clone()
    for _ in range(steps):
        adapted = adapted - lr * A_train @ (adapted - mu_train)
    meta = A_val @ (w - mu_val)
    for _ in range(steps):
        meta = meta - lr * A_train @ meta
    return adapted, meta


@wrong("ex02.4", "maml train and val swapped", "A_train and A_val are swapped")
def maml_gradient(w, A_train, mu_train, A_val, mu_val, lr, steps):
    for _ in range(steps):
        w = w - lr * A_train @ (w - mu_train)
    meta = A_train @ (w - mu_val)
    for _ in range(steps):
        meta = meta - lr * A_val @ meta
    return w, meta


@right
class surprised:
    """Another prediction."""

    def predict_5():
        return "stays"

    def reading_5():
        return (
            "I was wrong: the gain grows, from 0.5 points at alpha = 100 to 6.1 at alpha = 0.1. "
            "Where clients are alike there is nothing to correct. Ten rounds cannot tell who is "
            "better in the end."
        )


@right
class confirmed:
    """The prediction that came true."""

    def predict_5():
        return "grows"

    def reading_5():
        return (
            "As predicted the gain grows: -0.5 [-1.0, 0.0] at alpha = 100, and -6.1 [-9.3, -3.0] "
            "at 0.1! Why? Because c - c_i is large only where clients differ. One learning rate "
            "was tried; tuned, plain averaging may catch up."
        )


@wrong("ex02.5", "one alpha for all", "A row for each condition")
def table_5(run, conditions, seeds):
    return [[run(method, 1.0, seed) for seed in seeds] for method, _ in conditions]


include("experiments.py", "ex02.5")
