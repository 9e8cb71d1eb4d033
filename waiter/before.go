package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A before is the hook that the sidecar had before ours. It runs first and without a time limit, as it did without us.
type before struct {
	name string // for messages
	run  func(context.Context) error
}

func (b *before) failure(err error) string {
	return "the hook that was there before (" + shown(b.name) + ") failed: " + plain(err)
}

// beforeJSON has the shape of Kubernetes' LifecycleHandler, except that exec is the command itself and ports are numbers.
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
	switch given := [3]bool{b.Exec != nil, b.Sleep != nil, b.HTTPGet != nil}; given {
	case [3]bool{0: true}:
		command := *b.Exec
		if err := validCommand(command); err != nil {
			return nil, errors.New("exec: " + err.Error())
		}
		run := func(ctx context.Context) error { return runExec(ctx, command) }
		return &before{"exec:" + commandText(command), run}, nil

	case [3]bool{1: true}:
		if b.Sleep.Seconds == nil || *b.Sleep.Seconds < 0 || *b.Sleep.Seconds > 1<<31 {
			return nil, errors.New("sleep: seconds must be a whole number, at least 0")
		}
		seconds := *b.Sleep.Seconds
		run := func(ctx context.Context) error {
			sleep(ctx, time.Duration(seconds)*time.Second)
			return ctx.Err()
		}
		return &before{"sleep of " + strconv.FormatInt(seconds, 10) + "s", run}, nil

	case [3]bool{2: true}:
		g := b.HTTPGet
		scheme := cmp.Or(strings.ToLower(g.Scheme), "http")
		if scheme != "http" && scheme != "https" {
			return nil, errors.New("httpGet: scheme must be HTTP or HTTPS")
		}
		if g.Port < 1 || g.Port > 65535 {
			return nil, errors.New("httpGet: port must be a number from 1 to 65535")
		}
		if err := validHeaders(g.HTTPHeaders); err != nil {
			return nil, errors.New("httpGet: " + err.Error())
		}
		// Any host is accepted: if it can't be reached, the hook would have failed without us, too.
		host, port := strings.TrimSuffix(strings.TrimPrefix(g.Host, "["), "]"), strconv.Itoa(g.Port)
		run := func(ctx context.Context) error {
			return getOnce(ctx, scheme, host, port, g.Path, g.HTTPHeaders)
		}
		return &before{"httpGet " + scheme + "://" + named(host, port) + "/" + strings.TrimPrefix(g.Path, "/"), run}, nil

	default:
		return nil, errors.New("it must have exactly one of exec, sleep and httpGet")
	}
}

// named is a host and a port for a message; the host may be empty.
func named(host, port string) string {
	if host == "" {
		return ":" + port
	}
	return net.JoinHostPort(host, port)
}

// getOnce accepts any answer, as the kubelet does for hooks. The next address is tried only if nothing was sent.
func getOnce(ctx context.Context, scheme, host, port, path string, headers []header) error {
	hook := getter{headers: headers, userAgent: "kube-lifecycle/sidecar-first", hook: true}
	var first error
	next := addresses(host)
	for address := next(); address != ""; address = next() {
		target, err := probeURL(scheme, net.JoinHostPort(address, port), path)
		if err != nil {
			return err
		}
		_, err = hook.get(ctx, target)
		if errors.Is(err, http.ErrSchemeMismatch) {
			// Like the kubelet, fall back to http without the credentials (lifecycle/handlers.go).
			target.Scheme = "http"
			bare := hook
			bare.headers = slices.DeleteFunc(slices.Clone(headers), func(h header) bool { return strings.EqualFold(h.Name, "Authorization") })
			_, err = bare.get(ctx, target)
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
