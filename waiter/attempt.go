package main

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
)

// attempt runs the check once; nil means ready.
func (w wait) attempt(ctx context.Context) error {
	c := w.check
	switch c.kind {
	case kindHTTP, kindHTTPS, kindTCP, kindGRPC:
		return onEachAddress(ctx, c.host, w.attemptTimeout, w.ask)
	case kindUnix:
		return probeDial(ctx, "unix", c.path)
	case kindFile:
		_, err := os.Stat(c.path)
		var path *os.PathError
		if errors.As(err, &path) {
			return path.Err
		}
		return err
	case kindExec:
		return runExec(ctx, c.command)
	default:
		panic("not a check")
	}
}

// ask probes one address.
func (w wait) ask(ctx context.Context, host string) error {
	c, address := w.check, net.JoinHostPort(host, w.check.port)
	switch c.kind {
	case kindTCP:
		return probeDial(ctx, "tcp", address)
	case kindGRPC:
		return probeGRPC(ctx, address, c.path)
	}
	target := urlOf(string(c.kind), address, c.path)
	if w.path != nil {
		var err error
		if target, err = probeURL(string(c.kind), address, *w.path); err != nil {
			return err
		}
	}
	return probeHTTP(ctx, target, w.headers)
}

func probeDial(ctx context.Context, network, address string) error {
	conn, err := dial(ctx, network, address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// dial connects without keep-alive, which costs two system calls and has no use here. localhost is the loopback whatever /etc/hosts says: a pod's
// hostAliases stand there, and whoever writes those would answer for the sidecar.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{KeepAlive: -1}
	port, isLocal := strings.CutPrefix(address, "localhost:")
	if !isLocal {
		return dialer.DialContext(ctx, network, address)
	}
	conn, err := dialer.DialContext(ctx, network, "127.0.0.1:"+port)
	if err == nil || !isRefused(err) {
		return conn, err
	}
	return dialer.DialContext(ctx, network, "[::1]:"+port)
}

func isRefused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.ENETUNREACH) ||
		errors.Is(err, syscall.EAFNOSUPPORT)
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
