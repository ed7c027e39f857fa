"""What surrounds a PyTorch module: values that travel, parameters by name, what it may return."""
import json
import math
import tempfile
import types
import unittest

from support import needs_torch, session_of, task, torch

if torch:
    from module.call import check, leaves, make_call
    from module.errors import Wrong
    from module.load import _load_parameters
    from module.observe import Watch
    from oracle.module_side import ModuleSide
    from oracle.shared import Windows, allocate, digest
    from oracle.values import decode, encode


@needs_torch
class Values(unittest.TestCase):
    def test_everything_survives_json(self):
        value = [1, 2.5, True, None, "a", (3, [4]), {"k": 1, 2: (1,)}, math.inf, 1 + 2j, torch.float16,
                 torch.Size([2, 3])]
        back = decode(json.loads(json.dumps(encode(value))), None)
        self.assertEqual(back, value)
        self.assertEqual([type(v) for v in back], [type(v) for v in value])

    def test_tensors_by_value_and_by_name(self):
        for tensor in (torch.arange(6).reshape(2, 3), torch.rand(3, dtype=torch.float64), torch.tensor(True),
                       torch.empty(0), torch.rand(2).bfloat16()):
            back = decode(json.loads(json.dumps(encode(tensor))), None)
            self.assertTrue(torch.equal(back, tensor) and back.dtype == tensor.dtype)
        coded = encode([torch.ones(1), [torch.ones(2)]], iter(["a", "b"]))
        self.assertEqual(decode(coded, {"a": 1, "b": 2}.get), [1, [2]])

    def test_what_cannot_travel_is_named(self):
        with self.assertRaisesRegex(Exception, "a object cannot be given"):
            encode(object())


@needs_torch
class Memory(unittest.TestCase):
    def test_two_windows_on_the_same_memory(self):
        with tempfile.TemporaryDirectory() as folder:
            memory, shared = allocate(None, folder, [("a", 12), ("b", 8)])
            windows = Windows(None, shared)
            windows.by_name["b"].fill_(7)
            begin = shared[1]["offset"]
            self.assertEqual(begin % 256, 0)
            self.assertEqual(memory.bytes[begin:begin + 9].tolist(), [7] * 8 + [0])
            before = digest(windows.padded["b"])
            memory.bytes[begin + 3] = 8
            self.assertNotEqual(digest(windows.padded["b"]), before)

    def test_place_and_check(self):
        session = session_of(task("return x * 2", "torch.rand(4, 8)"))
        side = ModuleSide(session)
        specs = session.task["tensors"]
        with tempfile.TemporaryDirectory() as folder:
            memory, shared = allocate(None, folder, [(s["name"], 128) for s in specs])
            side.module_open({"tensors": shared})
            x, out = (memory.bytes[s["offset"]:s["offset"] + 128].view(torch.float32) for s in shared)
            for seed in (3, 4):
                side.module_place({"seed": seed})
                self.assertFalse(torch.equal(out, x * 2))
                words = memory.bytes[shared[1]["offset"]:shared[1]["offset"] + 256]
                poisoned = side.module_check({"seed": seed, "digest": [digest(words)]})
                self.assertFalse(poisoned["pass"])
                out.copy_(x * 2)
                good = side.module_check({"seed": seed, "digest": [digest(words)]})
                self.assertTrue(good["pass"] and good["digest_ok"] and not good["inputs_changed"])
            self.assertFalse(side.module_check({"seed": 4, "digest": [0]})["digest_ok"])
            x[5] += 1
            self.assertEqual(side.module_check({"seed": 4, "digest": []})["inputs_changed"], ["x"])


@needs_torch
class Parameters(unittest.TestCase):
    def model(self):
        torch.manual_seed(0)
        return torch.nn.Linear(4, 4)

    def test_equal_ones_are_left_and_others_are_set(self):
        reference = dict(self.model().named_parameters())
        self.assertEqual(_load_parameters(self.model(), reference), {"same": 2, "loaded": 0, "own": 0})
        torch.manual_seed(1)
        other = torch.nn.Linear(4, 4)
        self.assertEqual(_load_parameters(other, reference)["loaded"], 2)
        self.assertTrue(torch.equal(other.weight, reference["weight"]))

    def test_a_transposed_copy_stays_as_it_is(self):
        reference = dict(self.model().named_parameters())
        mine = self.model()
        mine.weight.data = mine.weight.data.t().contiguous()
        self.assertEqual(_load_parameters(mine, reference), {"same": 1, "loaded": 0, "own": 1})
        self.assertTrue(torch.equal(mine.weight, reference["weight"].t()))

    def test_other_shapes_and_names_are_its_own(self):
        self.assertEqual(_load_parameters(torch.nn.Linear(5, 4), dict(self.model().named_parameters())),
                         {"same": 0, "loaded": 1, "own": 1})


@needs_torch
class Results(unittest.TestCase):
    def check(self, result, shape=(2,)):
        spec = {"name": "out", "shape": list(shape), "torch_dtype": torch.float32}
        return check(leaves(result), ["output"], [spec], torch.device("cpu"))

    def refused(self, result, kind, words):
        with self.assertRaises(Wrong) as caught:
            self.check(result)
        self.assertEqual(caught.exception.kind, kind)
        self.assertIn(words, caught.exception.message)

    def test_what_is_taken_and_what_is_not(self):
        self.check(torch.ones(2))
        self.check([torch.ones(2)])
        self.refused(torch.ones(3), "incorrect", "shape [3]")
        self.refused(torch.ones(2).double(), "incorrect", "float64")
        self.refused("text", "incorrect", "a str")
        self.refused((torch.ones(2), torch.ones(2)), "incorrect", "2 tensors")
        self.refused(torch.ones(2).to_sparse(), "incorrect", "sparse")
        self.refused(torch.empty(2, device="meta"), "incorrect", "meta")
        self.refused(torch.nn.Parameter(torch.ones(2)), "dishonest", "tensor_subclass")

    def test_leaves_of_a_dict_are_taken_by_name(self):
        specs = [{"name": n, "shape": [1], "torch_dtype": torch.float32} for n in ("a", "b")]
        ordered = check(leaves({"b": torch.ones(1), "a": torch.zeros(1)}), ["output['a']", "output['b']"], specs,
                        torch.device("cpu"))
        self.assertEqual([float(t) for t in ordered], [0, 1])

    def test_a_call_copies_and_sums(self):
        with tempfile.TemporaryDirectory() as folder:
            memory, _ = allocate(None, folder, [("out", 8)])
            session = types.SimpleNamespace(
                device=torch.device("cpu"), outputs=[{"name": "out", "shape": [2]}],
                views={"out": memory.bytes[:8].view(torch.float32)}, padded={"out": memory.bytes[:256]})
            digests, milliseconds = make_call(session, lambda: torch.ones(2), ["output"])()
            self.assertEqual(digests, [digest(memory.bytes)])
            self.assertGreater(milliseconds, 0)
            self.assertEqual(session.views["out"].tolist(), [1, 1])


@needs_torch
class Observing(unittest.TestCase):
    def test_patched_functions_are_named(self):
        watch = Watch(torch.device("cpu"))
        self.assertEqual(watch.patched(), [])
        before = torch.allclose
        try:
            torch.allclose = lambda *unused: True
            self.assertEqual(watch.patched(), ["torch.allclose"])
        finally:
            torch.allclose = before

    def test_operators_that_compute_are_counted(self):
        watch, x = Watch(torch.device("cpu")), torch.ones(4, 4)
        seen = watch.observe(lambda: torch.relu(x @ x).reshape(16).clone())
        self.assertEqual(seen["operators"], {"aten::mm": 1, "aten::relu": 1})
        self.assertIsNone(seen["kernels"])


if __name__ == "__main__":
    unittest.main()
