package main

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

type kind string

const (
	kindHTTP  kind = "http"
	kindHTTPS kind = "https"
	kindTCP   kind = "tcp"
	kindGRPC  kind = "grpc"
	kindUnix  kind = "unix"
	kindFile  kind = "file"
	kindExec  kind = "exec"
)

// A check is the condition under which a sidecar counts as ready.
type check struct {
	text    string // as it was written
	kind    kind
	host    string // IPv6 without brackets; empty: the container itself
	port    string
	path    string   // http, https: with the query; unix, file: the file; grpc: the service
	command []string // exec
}

// A badCheck points at the character that is wrong.
type badCheck struct {
	text string
	at   int // in bytes
	why  string
}

func (e *badCheck) Error() string {
	return fmt.Sprintf("check %s, character %d: %s", shown(strconv.Quote(e.text)), utf8.RuneCountInString(e.text[:e.at])+1, e.why)
}

const forms = "a check is http://[host]:port/path, https://…, tcp://[host]:port, grpc://[host]:port[/service], " +
	`unix:///path, file:///path or exec:["command"]`

// parseCheck reads our own grammar: standard parsers don't accept http://:15021/x as a URL.
func parseCheck(text string) (check, error) {
	fail := func(at int, why string) (check, error) { return check{}, &badCheck{text, at, why} }
	scheme, rest, ok := strings.Cut(text, ":")
	c := check{text: text, kind: kind(scheme)}
	at := len(scheme) + 1
	if !ok {
		return fail(0, forms)
	}
	if c.kind == kindExec {
		command, err := parseCommandLine(rest)
		if err != nil {
			return fail(at, "exec: takes a JSON array of strings: "+err.Error())
		}
		c.command = command
		return c, nil
	}
	switch c.kind {
	case kindHTTP, kindHTTPS, kindTCP, kindGRPC, kindUnix, kindFile:
	default:
		return fail(0, forms)
	}
	if rest, ok = strings.CutPrefix(rest, "//"); !ok {
		return fail(at, "// is missing after "+scheme+":")
	}
	at += 2
	if c.kind == kindUnix || c.kind == kindFile {
		if !strings.HasPrefix(rest, "/") {
			return fail(at, "an absolute path is missing, as in "+scheme+":///run/x")
		}
		if i := strings.IndexByte(rest, 0); i >= 0 {
			return fail(at+i, "a NUL character can't be in a path")
		}
		c.path = rest
		return c, nil
	}
	for i, r := range rest {
		if r <= ' ' || r == 0x7f || r == '#' {
			return fail(at+i, "a space, a control character and # can't be here")
		}
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	address, path := rest[:end], rest[end:]
	colon := strings.LastIndexByte(address, ':')
	if colon < 0 || strings.HasSuffix(address, "]") {
		return fail(at+len(address), "the port is missing, as in "+scheme+"://:8080")
	}
	if c.host, ok = parseHost(address[:colon]); !ok {
		return fail(at, "the host is an IPv4 address, an IPv6 address in brackets, a DNS name or nothing")
	}
	c.port = address[colon+1:]
	if n, err := strconv.ParseUint(c.port, 10, 16); err != nil || n == 0 || c.port[0] == '0' {
		return fail(at+colon+1, "the port is a number from 1 to 65535")
	}
	switch c.kind {
	case kindTCP:
		if path != "" {
			return fail(at+end, "nothing can follow the port of a tcp check")
		}
	case kindGRPC:
		if i := strings.IndexByte(path, '?'); i >= 0 {
			return fail(at+end+i, "a grpc check has no query")
		}
		c.path = strings.TrimPrefix(path, "/")
	default:
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		c.path = path
	}
	return c, nil
}

func parseHost(text string) (string, bool) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		return inner, ok && err == nil && ip.Is6() && ip.Zone() == ""
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"
	return text, len(text) <= 253 && strings.Trim(text, letters) == "" && !strings.HasPrefix(text, "-")
}
