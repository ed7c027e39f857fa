"""Draws of several distributions, fitness over them, spilled and sliced truths."""
import unittest

from support import needs_torch, session_of, task, torch

RELU = task("return torch.relu(x)", "torch.rand(64, 32)")
SYMMETRIC = task("return x @ x", "(lambda a: torch.tril(a) + torch.tril(a).t())(torch.rand(16, 16))")


def draw_all(session):
    for seed, variant in enumerate(("own", "signed", "scaled"), start=1):
        session.draw(seed, variant)
    return [session.drawn(seed) for seed in (1, 2, 3)]


@needs_torch
class Variants(unittest.TestCase):
    def test_signs(self):
        session = session_of(RELU)
        session.draw(5, "signed")
        x = session.drawn(5).args[0]
        self.assertEqual(session.drawn(5).variant, "signed")
        own = session.reference.draw(5)[0]
        self.assertTrue(torch.equal(x.abs(), own))
        self.assertTrue(0.4 < (x < 0).float().mean().item() < 0.6)

    def test_structure_survives(self):
        session = session_of(SYMMETRIC)
        session.draw(5, "signed")
        x = session.drawn(5).args[0]
        self.assertTrue(torch.equal(x, x.t()))
        self.assertTrue((x < 0).any() and (x > 0).any())
        session = session_of(task("return x * 2", "torch.tril(torch.rand(16, 16))"))
        session.draw(5, "signed")
        x = session.drawn(5).args[0]
        self.assertEqual(float(x.triu(1).abs().sum()), 0.0)
        self.assertFalse(bool(torch.signbit(x.triu(1)).any()))

    def test_all_types(self):
        from oracle import variants
        own = torch.randn(1000).double()
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            row = own.to(dtype)
            flipped = row.clone()
            variants.apply([flipped], "signed", 3)
            self.assertTrue(torch.equal(flipped.abs(), row.abs()))
            self.assertTrue(0.35 < (flipped != row).double().mean().item() < 0.65, dtype)
            antisymmetric = -row
            variants.apply([antisymmetric], "signed", 3)
            self.assertTrue(torch.equal(antisymmetric, -flipped))
        whole = torch.arange(9)
        variants.apply([whole], "signed", 3)
        variants.apply([whole], "scaled", 3)
        self.assertTrue(torch.equal(whole, torch.arange(9)))

    def test_scaled(self):
        from oracle import variants
        factors = set()
        for seed in range(16):
            row = torch.ones(3)
            variants.apply([row], "scaled", seed)
            factors.add(float(row[0]))
        self.assertEqual(factors, {0.25, 4.0})

    def test_integers_have_no_variants(self):
        session = session_of(task("return x * 2", "torch.randint(9, (64,))"))
        session.draw(5, "signed")
        self.assertEqual((session.drawn(5).variant, session.notes), ("own", []))

    def test_the_same_seed_gives_the_same_draw(self):
        session = session_of(RELU)
        session.draw(5, "signed")
        before = session.drawn(5).args[0].clone()
        session.draw(5, "own")  # the variant stays the first call's
        session.forget(5)
        session.draw(5, "signed")
        self.assertTrue(torch.equal(session.drawn(5).args[0], before))

    def falls_back(self, source, variant, part):
        session = session_of(source)
        session.draw(5, variant)
        self.assertEqual(session.drawn(5).variant, "own")
        self.assertTrue(torch.equal(session.drawn(5).args[0], session.reference.draw(5)[0]))
        session.draw(6, variant)
        said = [note for note in session.notes if "does not bear" in note]
        self.assertEqual(len(said), 1, session.notes)  # once
        self.assertIn(part, said[0])

    def test_out_of_the_domain(self):
        self.falls_back(task("return torch.log(x)", "torch.rand(64) + 0.1"), "signed", "not finite")
        self.falls_back(task("assert (x >= 0).all(); return x * 2", "torch.rand(64)"), "signed", "AssertionError")

    def test_far_less_exact(self):
        source = task("return x * 2 if (x >= 0).all() else (x + 1e4) - 1e4", "torch.rand(64)")
        self.falls_back(source, "signed", "less exact")

    def test_operators_that_stop_the_gpu(self):
        self.falls_back(task("return torch.bernoulli(x) * 0 + x", "torch.rand(64)"), "scaled", "bernoulli")
        self.falls_back(task("return torch.arange(9.0)[(x * 8).long()]", "torch.rand(64)"), "scaled", "integers")


@needs_torch
class Fitness(unittest.TestCase):
    def test_the_first_input_passes_one_draw(self):
        session = session_of(RELU)
        drawn = draw_all(session)
        self.assertEqual([d.trivial for d in drawn], [["the first input"], [], ["the first input"]])
        session.fitness()
        self.assertIn("where the inputs are own, scaled", session.notes[-1])

    def unfit(self, session):
        from oracle.failure import Failure
        with self.assertRaises(Failure) as caught:
            session.fitness()
        self.assertEqual(caught.exception.kind, "unfit")
        return caught.exception.message

    def test_the_first_input_passes_all(self):
        session = session_of(task("return x + 0 * x.sum()", "torch.rand(64, 32)"))
        draw_all(session)
        self.assertIn("the first input", self.unfit(session))
        session = session_of(RELU)
        session.draw(1)
        session.fitness()  # one draw, as for profiling: it is told, not refused
        self.assertIn("the first input, returned as it is, passes the only draw", session.notes[-1])
        session.draw(2)
        self.assertIn("the first input", self.unfit(session))

    def test_zeros_pass_where_negative(self):
        session = session_of(task("return torch.relu(-x)", "torch.rand(64)"))
        draw_all(session)
        session.fitness()
        self.assertIn("all zeros passes where the inputs are own, scaled", session.notes[-1])

    def test_no_dependence(self):
        source = task("return self.w * 2 + x.mean() * 0", "torch.rand(64)", "self.w = nn.Parameter(torch.rand(64))")
        session = session_of(source)
        draw_all(session)
        self.assertIn("do not depend", self.unfit(session))


@needs_torch
class Repair(unittest.TestCase):
    def test_zero_parameters_are_filled_and_shared(self):
        source = task("return x + self.bias", "torch.rand(4, 8)", "self.bias = nn.Parameter(torch.zeros(8))")
        session, again = session_of(source), session_of(source)
        bias = session.reference.model.bias
        self.assertTrue(bool((bias != 0).all()))
        self.assertTrue(torch.equal(bias, again.reference.model.bias))
        self.assertIn("filled with small random values: bias", " ".join(session.task["notes"]))
        session.draw(1)
        arena = session.parameters[0]
        self.assertTrue(torch.equal(arena.bytes[:32].view(torch.float32), bias.detach()))
        x = session.drawn(1).args[0]
        self.assertFalse(session.compare_tensors(1, {"out": x.clone()})["pass"])
        self.assertTrue(session.compare_tensors(1, {"out": x + bias.detach()})["pass"])

    def test_normalisation(self):
        norm = task("return self.bn(x)", "torch.rand(4, 8)", "self.bn = nn.BatchNorm1d(8){}")
        model = session_of(norm.format(".eval()")).reference.model
        self.assertTrue(bool((model.bn.running_mean != 0).all() and (model.bn.bias != 0).all()))
        self.assertTrue(bool((model.bn.running_var == 1).all()))
        session = session_of(norm.format(""))  # training: the running mean is not read
        self.assertTrue(bool((session.reference.model.bn.running_mean == 0).all()))
        self.assertNotIn("running_mean", " ".join(session.task["notes"]))

    def test_definitions_stay(self):
        source = task("return x + self.mask + self.h", "torch.rand(4, 8)",
                      "self.register_buffer('mask', torch.zeros(8)); self.h = torch.zeros(8)")
        session = session_of(source)
        self.assertTrue(bool((session.reference.model.mask == 0).all()))
        self.assertIn("all zero, and left so, for they belong to the definition: mask, h",
                      " ".join(session.task["notes"]))


@needs_torch
class Memory(unittest.TestCase):
    def slices(self, source, small=1 << 12):
        """A session whose truth is made by slices, for small stands in for a GPU's memory."""
        from unittest import mock
        session = session_of(source)
        with mock.patch("oracle.truth.SMALL", small), mock.patch("oracle.slices.SLICE_BYTES", small):
            session.draw(1)
        return session

    def whole(self, source):
        session = session_of(source)
        session.draw(1)
        return session

    def test_slices_give_the_same_truth(self):
        from unittest import mock
        source = task("return torch.softmax(x, dim=1) * self.w, x.argmax(dim=1)", "torch.randn(100, 64)",
                      "self.w = nn.Parameter(torch.randn(64))")
        whole = self.whole(source)
        with mock.patch("oracle.reference.Reference.run_wide", side_effect=AssertionError("a whole run")):
            sliced = self.slices(source)
        for a, b in zip(whole.drawn(1).truths.leaves, sliced.drawn(1).truths.leaves):
            self.assertTrue(torch.equal(a.values, b.values))
        self.assertEqual(sliced.notes, [])

    def test_rows_that_hang_together_are_not_sliced(self):
        for forward in ("return x - x.mean(dim=0)", "return x * 2 + x.max()", "return x.cumsum(dim=0)",
                        "return x.view(100, 64) + 1"):
            source = task(forward, "torch.randn(100, 64)")
            whole, sliced = self.whole(source), self.slices(source)
            self.assertTrue(torch.equal(whole.drawn(1).truths.leaves[0].values,
                                        sliced.drawn(1).truths.leaves[0].values), forward)

    def test_two_arguments_of_the_same_length(self):
        source = task("return x[0] @ x[1]", "(torch.randn(64, 64), torch.randn(64, 64))")
        whole, sliced = self.whole(source), self.slices(source)
        self.assertTrue(torch.allclose(whole.drawn(1).truths.leaves[0].values,
                                       sliced.drawn(1).truths.leaves[0].values, rtol=1e-13, atol=1e-13))

    def test_spill_keeps_one_seeds_inputs(self):
        session = session_of(RELU)
        session.draw(1)
        before = session.drawn(1).args[0].clone()
        session.draw(2, "signed", spill=True)
        self.assertIsNone(session.drawn(1).args)
        self.assertIsNotNone(session.drawn(2).args)
        right = torch.relu(before)
        self.assertTrue(session.compare_tensors(1, {"out": right})["pass"])  # without the inputs
        self.assertIsNone(session.drawn(1).args)
        session.draw(1)
        self.assertTrue(torch.equal(session.drawn(1).args[0], before))
        self.assertIsNone(session.drawn(2).args)
        wrong = right.clone()
        wrong[3, 4] += 1
        self.assertEqual(session.compare_tensors(1, {"out": wrong})["leaves"][0]["worst_index"], [3, 4])
        session.fitness()

    def test_loose_outputs_bring_the_inputs_back(self):
        """The class of an inexact output is found by runs of eager at other precisions."""
        session = session_of(task("return x @ self.w", "torch.randn(64, 512)",
                                  "self.w = nn.Parameter(torch.randn(512, 48))"), "half")
        session.draw(1, spill=True)
        x, w = session.drawn(1).args[0], session.reference.model.w.detach()
        out = (x.bfloat16() @ w.bfloat16()).float()
        session.draw(2)
        self.assertNotIn("strict", session.drawn(1).truths.leaves[0].eager)
        found = session.compare_tensors(1, {"out": out})
        self.assertEqual((found["pass"], found["accuracy_class"]), (True, "bf16/fp16"), found)
        self.assertIsNotNone(session.drawn(1).args)


class FakeOpened:
    """Stands in for ipc.Opened: an allocation's bytes are those of `made[handle]` when it is opened."""

    def __init__(self):
        self.made, self.open, self.opens = {}, {}, 0

    def bytes(self, shared):
        if shared["handle"] not in self.open:
            self.open[shared["handle"]] = self.made[shared["handle"]]
            self.opens += 1
        return self.open[shared["handle"]]

    def close(self):
        self.open = {}


@needs_torch
class RunnersMemory(unittest.TestCase):
    def test_it_stays_open_until_its_number_changes(self):
        from oracle.oracle import Stages
        session = session_of(RELU)
        session.draw(1)
        right = torch.relu(session.drawn(1).args[0]).flatten()
        session.outputs = opened = FakeOpened()
        outputs = [{"name": "out", "handle": "aa", "offset": 0, "bytes": 4 * right.numel()}]
        judged = lambda number: session.compare_shared(1, outputs, number, Stages())["pass"]
        opened.made["aa"] = right.view(torch.uint8)
        self.assertTrue(judged(1))
        self.assertTrue(judged(1))
        self.assertEqual(opened.opens, 1)
        opened.made["aa"] = (right + 1).view(torch.uint8)  # another allocation, by chance with the same handle
        self.assertFalse(judged(2))
        self.assertEqual(opened.opens, 2)
        session.close_outputs()
        self.assertEqual(opened.open, {})
        self.assertFalse(judged(2))
        self.assertEqual(opened.opens, 3)


@needs_torch
class Numbers(unittest.TestCase):
    def test_numbers_are_outputs(self):
        session = session_of(task("return x * 2, x.sum().item(), x.numel(), bool((x > 2).any())", "torch.rand(9, 9)"))
        outs = [(t["dtype"], t["shape"]) for t in session.task["tensors"] if t["role"] == "output"]
        self.assertEqual(outs, [("f32", [9, 9]), ("f32", []), ("i64", []), ("b8", [])])
        session.draw(1)
        x = session.drawn(1).args[0]
        truth = session.drawn(1).truths.leaves[1].values
        self.assertEqual(truth.item(), x.double().sum().item())
        out = {"out0": x * 2, "out1": x.sum(), "out2": torch.tensor(81), "out3": torch.tensor(False)}
        self.assertTrue(session.compare_tensors(1, out)["pass"])
        for name, wrong in (("out1", x.sum() * 1.01), ("out2", torch.tensor(80)), ("out3", torch.tensor(True))):
            self.assertFalse(session.compare_tensors(1, {**out, name: wrong})["pass"], name)


@needs_torch
class Samples(unittest.TestCase):
    def test_samples_and_baselines(self):
        session = session_of(RELU)
        session.draw(1)
        self.assertEqual(len(session.sample(1, "eager", 5)), 5)
        found = session.time_baselines(1, 0.01)
        self.assertEqual([b["name"] for b in found], ["eager", "eager_tf32"])
        from oracle.failure import Failure
        with self.assertRaises(Failure):
            session.sample(1, "eagre", 1)

    def test_sampling_leaves_no_trace(self):
        source = task("self.seen = self.seen + x; x.mul_(2); return x + self.seen", "torch.rand(8)",
                      "self.seen = torch.zeros(8)")
        session = session_of(source)
        session.draw(1)
        before = session.drawn(1).args[0].clone()
        session.sample(1, "eager", 3)
        self.assertTrue(torch.equal(session.drawn(1).args[0], before))
        self.assertEqual(float(session.reference.model.seen.abs().sum()), 0.0)

    def test_a_compile_that_fails_is_a_note(self):
        session = session_of(RELU, compile_baseline=True)
        session.draw(1)
        from unittest import mock
        with mock.patch.object(torch, "compile", side_effect=RuntimeError("no compiler"), create=True):
            found = session.time_baselines(1, 0.01)
        self.assertEqual([b["name"] for b in found], ["eager", "eager_tf32"])
        self.assertIn("no baseline torch_compile: RuntimeError: no compiler", session.notes)

    def test_time_limit(self):
        from oracle.baselines import _time_limit
        with self.assertRaises(TimeoutError), _time_limit(0.05):
            while True:
                pass


@needs_torch
class Quantiles(unittest.TestCase):
    def test_of_the_error(self):
        session = session_of(task("return x * 2", "torch.rand(101)"))
        session.draw(1)
        right = session.drawn(1).truths.leaves[0].values
        found = session.compare_tensors(1, {"out": (right + torch.arange(101)).float()})["leaves"][0]["quantiles"]
        for key, wanted in (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)):
            self.assertAlmostEqual(found[key], wanted, 4)

    def test_of_a_sample(self):
        session = session_of(task("return x * 2", "torch.rand(1 << 20)"))
        session.draw(1)
        right = session.drawn(1).truths.leaves[0].values
        error = torch.arange(1 << 20).flip(0).double() / (1 << 20)
        found = session.compare_tensors(1, {"out": (right + error).float()})["leaves"][0]["quantiles"]
        self.assertAlmostEqual(found["p50"], 0.5, 2)
        self.assertAlmostEqual(found["p99"], 0.99, 2)


if __name__ == "__main__":
    unittest.main()
