package main

import (
	"context"
	"iter"
	"net"
	"time"
)

// addresses are the hosts to try for a check: the one it names, or else loopback and then the container's own addresses.
func addresses(host string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if host != "" {
			yield(host)
			return
		}
		if !yield("127.0.0.1") || !yield("::1") {
			return
		}
		own, _ := net.InterfaceAddrs()
		for _, a := range own {
			// A link-local address would need a zone.
			if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && !yield(n.IP.String()) {
				return
			}
		}
	}
}

// onEachAddress probes the addresses in order until one is ready. If one hangs for a quarter of the attempt's time, the next is
// tried as well. The error is the first that says more than "refused".
func onEachAddress(ctx context.Context, host string, limit time.Duration, probe func(context.Context, string) error) error {
	if host != "" {
		return probe(ctx, host)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan error)
	next, stop := iter.Pull(addresses(host))
	defer stop()
	var first error
	for pending := 0; ; {
		var patience <-chan time.Time
		if address, more := next(); more {
			pending++
			patience = time.After(limit / 4)
			go func() {
				select {
				case results <- probe(ctx, address):
				case <-ctx.Done():
				}
			}()
		} else if pending == 0 {
			return first
		}
		select {
		case err := <-results:
			if err == nil {
				return nil
			}
			pending--
			if first == nil || isRefused(first) && !isRefused(err) {
				first = err
			}
		case <-patience:
		case <-ctx.Done():
			return orElse(first, ctx.Err())
		}
	}
}

func orElse(err, other error) error {
	if err != nil && !isRefused(err) {
		return err
	}
	return other
}
