package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A before is the hook that a sidecar had before ours: run first, and unbounded, as it was without us.
type before struct {
	name string // for messages
	run  func(context.Context) error
}

// beforeJSON has the shape of Kubernetes' LifecycleHandler, but that exec is the command itself and ports are numbers.
type beforeJSON struct {
	Exec  *[]string `json:"exec"`
	Sleep *struct {
		Seconds *int64 `json:"seconds"`
	} `json:"sleep"`
	HTTPGet *struct {
		Scheme      string   `json:"scheme"`
		Host        string   `json:"host"`
		Port        int      `json:"port"`
		Path        string   `json:"path"`
		HTTPHeaders []header `json:"httpHeaders"`
	} `json:"httpGet"`
}

func (b *beforeJSON) parse() (*before, error) {
	given := 0
	for _, there := range []bool{b.Exec != nil, b.Sleep != nil, b.HTTPGet != nil} {
		if there {
			given++
		}
	}
	if given != 1 {
		return nil, errors.New("exactly one of exec, sleep and httpGet")
	}
	switch {
	case b.Exec != nil:
		command := *b.Exec
		if err := validCommand(command); err != nil {
			return nil, errors.New("exec: " + err.Error())
		}
		run := func(ctx context.Context) error { return runExec(ctx, command) }
		return &before{"exec:" + commandText(command), run}, nil

	case b.Sleep != nil:
		if b.Sleep.Seconds == nil || *b.Sleep.Seconds < 0 || *b.Sleep.Seconds > 1<<31 {
			return nil, errors.New("sleep: seconds is a whole number from 0 on")
		}
		seconds := *b.Sleep.Seconds
		run := func(ctx context.Context) error {
			sleep(ctx, time.Duration(seconds)*time.Second)
			return ctx.Err()
		}
		return &before{"sleep of " + strconv.FormatInt(seconds, 10) + "s", run}, nil

	default:
		g := b.HTTPGet
		scheme := strings.ToLower(g.Scheme)
		if scheme == "" {
			scheme = "http"
		}
		if scheme != "http" && scheme != "https" {
			return nil, errors.New("httpGet: scheme is HTTP or HTTPS")
		}
		if g.Port < 1 || g.Port > 65535 {
			return nil, errors.New("httpGet: port is a number from 1 to 65535")
		}
		host, ok := parseHost(bracketed(g.Host))
		if !ok {
			return nil, errors.New("httpGet: host is an IP address, a DNS name or nothing")
		}
		if err := validHeaders(g.HTTPHeaders); err != nil {
			return nil, errors.New("httpGet: " + err.Error())
		}
		port, path := strconv.Itoa(g.Port), "/"+strings.TrimPrefix(g.Path, "/")
		run := func(ctx context.Context) error {
			return getOnce(ctx, scheme, host, port, path, g.HTTPHeaders)
		}
		return &before{"httpGet " + scheme + "://" + bracketed(g.Host) + ":" + port + path, run}, nil
	}
}

// bracketed writes an IPv6 address, bare in Kubernetes' host fields, as our grammar has it.
func bracketed(host string) string {
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		return "[" + host + "]"
	}
	return host
}

// getOnce takes any answer, as the kubelet does for hooks. Only where nothing was sent is the next address tried.
func getOnce(ctx context.Context, scheme, host, port, path string, headers []header) error {
	const userAgent = "kube-lifecycle/sidecar-first"
	var first error
	for address := range addresses(host) {
		target := urlOf(scheme, address, port, path)
		_, err := get(ctx, target, headers, userAgent)
		var record tls.RecordHeaderError
		if errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/" {
			// The kubelet, too, falls back to http and then keeps the credentials to itself (lifecycle/handlers.go).
			target.Scheme = "http"
			bare := slices.DeleteFunc(slices.Clone(headers), func(h header) bool { return strings.EqualFold(h.Name, "Authorization") })
			_, err = get(ctx, target, bare, userAgent)
		}
		var op *net.OpError
		if err == nil || !errors.As(err, &op) || op.Op != "dial" {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}
