// Marks a module of its own. What it requires is pinned once, for the node's programs as well, in
// scripts/node/tools/kubernetes/go.mod, which ./run names with -modfile.
module sidecar-first.dev/waiter/differential

go 1.26.0
