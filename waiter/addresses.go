package main

import (
	"context"
	"net"
	"time"
)

// addresses returns what gives, one by one, the hosts to try for a check, and then nothing: the one it names, or else loopback and then the
// container's own addresses, which are only looked up if they are needed.
func addresses(host string) (next func() string) {
	hosts, isAll := []string{host}, host != ""
	if !isAll {
		hosts = []string{"127.0.0.1", "::1"}
	}
	return func() string {
		if len(hosts) == 0 && !isAll {
			hosts, isAll = ownAddresses(), true
		}
		if len(hosts) == 0 {
			return ""
		}
		first := hosts[0]
		hosts = hosts[1:]
		return first
	}
}

func ownAddresses() (hosts []string) {
	own, _ := net.InterfaceAddrs()
	for _, a := range own {
		// A link-local address would need a zone.
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			hosts = append(hosts, n.IP.String())
		}
	}
	return hosts
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
	next := addresses(host)
	var first error
	for pending := 0; ; {
		var patience <-chan time.Time
		if address := next(); address != "" {
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
