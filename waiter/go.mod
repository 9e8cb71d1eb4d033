module sidecar-first.dev/waiter

go 1.26
