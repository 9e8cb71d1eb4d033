module sidecar-first.dev/test/cluster/images

go 1.26.0
