"""Plain loops over numbers, with helpers and prints of the student's own."""

import math

import torch


def total(numbers):
    result = 0.0
    for number in numbers:
        result += number
    return result


def gradient(theta, arm, score, size, baseline):
    g = []
    for j in range(len(theta)):
        g_j = 0.0
        for i in range(len(arm)):
            if arm[i] == j:
                weight = size[i].item() / total(size.tolist())
                g_j += weight * (score[i].item() - baseline) / theta[j].item()
        g.append(g_j)
    print("g =", g)
    return torch.tensor(g, dtype=torch.float64)


def exponentiate(z, gradient, eta):
    new = []
    for j in range(len(z)):
        new.append(z[j].item() - eta * gradient[j].item())
    largest = max(new)
    log_of_sum = largest + math.log(total(math.exp(x - largest) for x in new))
    for j in range(len(new)):
        new[j] -= log_of_sum
    return torch.tensor(new, dtype=torch.float64)


def baseline(trace, gamma):
    if len(trace) == 0:
        return 0
    weight, weights, weighted = 1, 0, 0
    for x in trace[::-1]:
        weighted += weight * x
        weights += weight
        weight *= gamma
    return weighted / weights


def fedex_round(z, trace, arm, score, size, gamma):
    theta = torch.tensor([math.exp(z_j) for z_j in z.tolist()], dtype=torch.float64)
    lam = baseline(trace, gamma)
    g = gradient(theta, arm, score, size, lam)
    largest = 0
    for g_j in g.tolist():
        if abs(g_j) > largest:
            largest = abs(g_j)
    eta = 0
    if largest != 0:
        eta = math.sqrt(2 * math.log(len(z))) / largest
    new_z = exponentiate(z, g, eta)
    mean = total(n * x for n, x in zip(size.tolist(), score.tolist(), strict=True))
    new_trace = trace.copy()
    new_trace.append(mean / total(size.tolist()))
    return (new_z, new_trace)


if __name__ == "__main__":
    print("this is not run by the check")
