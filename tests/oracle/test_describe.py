"""The Task that is made of a file."""
import unittest

from support import TASKS, needs_torch, session_at, session_of, task


@needs_torch
class Describe(unittest.TestCase):
    def test_names_roles_and_strides(self):
        described = session_at(TASKS / "several_outputs.py").task
        rows = [(t["name"], t["role"], t["dtype"], t["shape"], t["strides"], t["origin"])
                for t in described["tensors"]]
        self.assertEqual(rows, [
            ("x", "input", "f32", [6, 8], [1, 6], "forward(x)"),
            ("pair0", "input", "f32", [3], [1], "forward(pair[0])"),
            ("pair1", "input", "f32", [5], [0], "forward(pair[1])"),
            ("more0", "input", "f32", [3], [1], "forward(more0)"),
            ("more1", "input", "f32", [2, 3], [3, 1], "forward(more1)"),
            ("fc_weight", "parameter", "f32", [4, 8], [8, 1], "fc.weight"),
            ("fc_bias", "parameter", "f32", [4], [1], "fc.bias"),
            ("mask", "parameter", "b8", [4], [1], "mask"),
            ("offset", "parameter", "f32", [4], [1], "offset"),
            ("out0", "output", "f32", [6, 4], [4, 1], "output['y']"),
            ("out1", "output", "f32", [], [], "output['stats'][0]"),
            ("out2", "output", "i64", [6], [1], "output['stats'][1]"),
            ("out3", "output", "b8", [6, 4], [4, 1], "output['mask']"),
            ("out4", "output", "f32", [3], [1], "output['more'][0]"),
            ("out5", "output", "f32", [2, 3], [3, 1], "output['more'][1]"),
        ])
        self.assertEqual(described["sizes"], {"ROWS": 6, "COLS": 8})
        scalars = {s["name"]: (s["value"], s["is_integer"]) for s in described["scalars"]}
        self.assertEqual(scalars, {"scale": (2.5, False), "act_negative_slope": (0.2, False),
                                   "fc_in_features": (8, True), "fc_out_features": (4, True)})

    def test_work(self):
        described = session_at(TASKS / "several_outputs.py").task
        self.assertEqual(described["work"]["matmul_flops"], 2 * 6 * 8 * 4)
        # x, pair (the expanded one is a single float), more, fc, mask, offset; then the outputs
        moved = (48 + 3 + 1 + 3 + 6 + 32 + 4 + 4) * 4 + 4
        moved += (24 + 1 + 3 + 6) * 4 + 6 * 8 + 24
        self.assertEqual(described["work"]["bytes"], moved)
        self.assertIn("aten::addmm", described["operators"])

    def test_convolution_flops(self):
        described = session_of(task("return self.c(x)", "torch.rand(2, 6, 9, 9)",
                                    "self.c = nn.Conv2d(6, 8, 3, groups=2)")).task
        self.assertEqual(described["work"]["matmul_flops"], 2 * (2 * 8 * 7 * 7) * (3 * 3 * 3))
        described = session_of(task("return self.c(x)", "torch.rand(2, 6, 9, 9)",
                                    "self.c = nn.ConvTranspose2d(6, 8, 3)")).task
        self.assertEqual(described["work"]["matmul_flops"], 2 * (2 * 6 * 9 * 9) * (8 * 3 * 3))

    def test_stateful_reference(self):
        session = session_at(TASKS / "stateful.py")
        notes = " | ".join(session.task["notes"])
        for part in ("writes its inputs", "changes hidden", "random layers are switched off: drop",
                     "training mode"):
            self.assertIn(part, notes)
        session.draw(1)
        reference, args = session.reference, session.drawn(1).args
        before = args[0].clone()
        first, second = (reference.run(reference.model, args) for _ in range(2))
        self.assertTrue((first == second).all())
        self.assertTrue((args[0] == before).all())
        self.assertEqual(float(reference.model.bn.running_mean.abs().sum()), 0.0)

    def test_collisions_and_words_of_cpp(self):
        parts = "self.x_1 = nn.Linear(4, 4); self.out = nn.Parameter(torch.rand(4)); " \
                "self.union = nn.Parameter(torch.rand(4)); self.x_1_weight = nn.Parameter(torch.rand(4))"
        described = session_of(task("return self.x_1(x) + self.union", "torch.rand(4)", parts)).task
        self.assertEqual([t["name"] for t in described["tensors"]],
                         ["x", "out", "union_", "x_1_weight", "x_1_weight_2", "x_1_bias", "out_2"])
        self.assertEqual([t["origin"] for t in described["tensors"]][4], "x_1.weight")

    def test_one_seed_gives_one_model(self):
        source = task("return self.c(x)", "torch.rand(2, 3)", "self.c = nn.Linear(3, 3)")
        a, b = session_of(source), session_of(source)
        self.assertTrue((a.reference.model.c.weight == b.reference.model.c.weight).all())


if __name__ == "__main__":
    unittest.main()
