package main

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A GET as the kubelet's probes make it (k8s.io/kubernetes/pkg/probe/http), over HTTP/1 or, where a TLS server prefers it,
// HTTP/2. It is written by hand because importing net/http costs 0.2 ms at every start and, while polling, half as much
// memory again, and both are taken from the sidecar. What it judges differently on purpose is listed in docs/annotations.md.

const (
	maxRedirects   = 10       // as the kubelet
	maxHeaderBytes = 10 << 20 // as net/http; they stream through a small buffer
	maxBody        = 10 << 10 // of an answer, as the kubelet
	maxRedirect    = 2 << 10  // of the body of a redirect, as net/http
	readBuffer     = 4096
	maxKept        = 64 << 10 // of a header that matters
)

// A getter makes GET requests as a probe or as a hook does.
type getter struct {
	headers   []header
	userAgent string
	// A hook accepts any answer and uses only HTTP/1.
	hook bool
}

func probeHTTP(ctx context.Context, target *url.URL, headers []header) error {
	code, err := getter{headers: headers, userAgent: "kube-probe/sidecar-first"}.get(ctx, target)
	if err == nil && (code < 200 || code > 399) {
		err = fmt.Errorf("answered %d", code)
	}
	return err
}

// urlOf takes the path of a check literally.
func urlOf(scheme, host, port, path string) *url.URL {
	u, err := url.ParseRequestURI(path)
	if err != nil {
		u = &url.URL{Path: path}
	}
	u.Scheme, u.Host = scheme, net.JoinHostPort(host, port)
	return u
}

// probeURL reads the path of an httpGet as the kubelet does: //a/b and http://a/b both ask for /b.
func probeURL(scheme, host, port, path string) (*url.URL, error) {
	u, err := url.Parse(path)
	if err != nil {
		u = &url.URL{Path: path}
	}
	u.Scheme, u.Host = scheme, net.JoinHostPort(host, port)
	if u, err = url.Parse(u.String()); err != nil {
		return nil, errors.New("the URL can't be asked: " + urlError(err))
	}
	if u.Host == "" {
		return nil, errors.New("the URL can't be asked: its path hides its host")
	}
	return u, nil
}

func urlError(err error) string {
	var parse *url.Error
	if errors.As(err, &parse) {
		err = parse.Err
	}
	return err.Error()
}

// get follows redirects within the same hostname and returns the code of the last answer. A redirect to another host is itself
// the answer. An error whose Op is "dial" means that nothing was sent.
func (g getter) get(ctx context.Context, target *url.URL) (int, error) {
	host, referer := find(g.headers, "Host"), ""
	hostname := target.Hostname()
	for asked := 1; ; asked++ {
		answer, err := g.exchange(ctx, target, host, referer)
		if err != nil {
			return 0, err
		}
		next, err := answer.redirect(target, hostname)
		if err == nil && next == nil {
			err = g.finish(answer)
		} else if answer.length <= maxRedirect {
			// net/http reads this much of a redirect's body and ignores errors.
			io.CopyN(io.Discard, answer.body, maxRedirect)
		}
		answer.close()
		if err != nil || next == nil {
			return answer.code, err
		}
		if asked == maxRedirects {
			return 0, fmt.Errorf("redirects more than %d times", maxRedirects)
		}
		if next.Scheme != "http" && next.Scheme != "https" {
			return 0, errors.New("redirects to a scheme that is not http or https")
		}
		if absolute, err := url.Parse(answer.location); err == nil && absolute.IsAbs() {
			host = ""
		}
		if referer = ""; target.Scheme != "https" || next.Scheme != "http" {
			from := *target
			from.User = nil
			referer = from.String()
		}
		target = next
	}
}

// finish reads as much of the body as the kubelet does. If the body breaks off before that, the answer doesn't count.
func (g getter) finish(answer *response) error {
	if g.hook && answer.length > maxBody {
		return nil
	}
	_, err := io.CopyN(io.Discard, answer.body, maxBody)
	if g.hook || err == nil || err == io.EOF {
		return nil
	}
	if isTimeout(err) {
		return err
	}
	return errors.New("broke off in its body: " + wire(err).Error())
}

// A response is an answer of which the headers have been read.
type response struct {
	code     int
	location string
	length   int64 // of the body; -1: unknown
	body     io.Reader
	close    func() error
}

// redirect returns the URL to follow; nil if there is none, or if it is on another host.
func (a *response) redirect(from *url.URL, hostname string) (*url.URL, error) {
	if a.location == "" || !slices.Contains([]int{301, 302, 303, 307, 308}, a.code) {
		return nil, nil
	}
	if len(a.location) >= maxKept {
		return nil, fmt.Errorf("redirects to a URL of more than %d KiB", maxKept>>10)
	}
	next, err := from.Parse(a.location)
	if err != nil {
		return nil, errors.New("redirects to something that is not a URL")
	}
	if next.Hostname() != hostname {
		return nil, nil
	}
	return next, nil
}

// exchange sends a request over a new connection and reads the answer's headers.
func (g getter) exchange(ctx context.Context, target *url.URL, host, referer string) (_ *response, err error) {
	port := target.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[target.Scheme]
	}
	conn, err := dialBound(ctx, "tcp", net.JoinHostPort(target.Hostname(), port))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	ask, wantsCertificate := ask1, false
	if target.Scheme == "https" {
		// The kubelet's probes don't verify either, and have no certificate of their own.
		config := &tls.Config{InsecureSkipVerify: true, ServerName: target.Hostname()}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			wantsCertificate = true
			return &tls.Certificate{}, nil
		}
		if !g.hook {
			config.NextProtos = []string{"h2", "http/1.1"}
		}
		secure := tls.Client(conn.Conn, config)
		if err := secure.Handshake(); err != nil {
			return nil, refused(wire(err), wantsCertificate)
		}
		conn.Conn = secure
		if secure.ConnectionState().NegotiatedProtocol == "h2" {
			ask = ask2
		}
	}
	a, err := ask(conn, target, g.fields(target, host, referer))
	if err != nil {
		return nil, refused(wire(err), wantsCertificate)
	}
	a.close = conn.Close
	return a, nil
}

// fields are the request's headers, Host first.
func (g getter) fields(target *url.URL, host, referer string) []header {
	if host == "" {
		host = target.Host
	}
	// net/http sends an empty Host instead of an invalid one, which HTTP/1.1 allows.
	if !isHost(host) {
		host = ""
	}
	fields := []header{{"Host", withoutZone(host)}}
	// The first value counts, and if it is empty the header is left out.
	if !has(g.headers, "User-Agent") {
		fields = append(fields, header{"User-Agent", g.userAgent})
	} else if value := find(g.headers, "User-Agent"); value != "" {
		fields = append(fields, header{"User-Agent", value})
	}
	if !has(g.headers, "Accept") {
		fields = append(fields, header{"Accept", "*/*"})
	}
	if referer != "" && !has(g.headers, "Referer") {
		fields = append(fields, header{"Referer", referer})
	}
	if user := target.User; user != nil && find(g.headers, "Authorization") == "" {
		password, _ := user.Password()
		basic := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		fields = append(fields, header{"Authorization", "Basic " + basic})
	}
	for _, h := range g.headers {
		switch strings.ToLower(h.Name) {
		// Written above, or about the body, which a GET doesn't have.
		case "host", "user-agent", "content-length", "transfer-encoding", "trailer":
			continue
		case "accept":
			if find(g.headers, "Accept") == "" {
				continue
			}
		case "authorization":
			if target.User != nil && find(g.headers, "Authorization") == "" {
				continue
			}
		}
		fields = append(fields, header{canonical(h.Name), h.Value})
	}
	return fields
}

// isHost is whether a header's host has only characters that net/http sends.
func isHost(text string) bool {
	const signs = "!$%&'()*+,-.:;=[]_~"
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(signs, r))
	})
}

// withoutZone takes the zone, which means something on this machine only, from a bracketed IPv6 address.
func withoutZone(host string) string {
	end := strings.LastIndexByte(host, ']')
	if zone := strings.IndexByte(host, '%'); strings.HasPrefix(host, "[") && zone > 0 && zone < end {
		return host[:zone] + host[end:]
	}
	return host
}

// wire explains an error of the connection.
func wire(err error) error {
	switch {
	case isTimeout(err), isReset(err):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("closed the connection before it had answered")
	}
	return err
}

// refused names the usual reason for a TLS alert. In TLS 1.3 it comes only after the handshake.
func refused(err error, wantsCertificate bool) error {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return err
	}
	if wantsCertificate {
		return errors.New("demands a client certificate, which probes don't have: " + plain(err))
	}
	return errors.New("refused the connection: " + plain(err))
}

// A boundConn is a connection that ends with a context.
type boundConn struct {
	net.Conn
	raw     net.Conn
	release func() bool
}

func dialBound(ctx context.Context, network, address string) (*boundConn, error) {
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline)
	}
	release := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	return &boundConn{conn, conn, release}, nil
}

// Close closes without TLS' goodbye, which could wait for a peer that doesn't read.
func (c *boundConn) Close() error {
	c.release()
	return c.raw.Close()
}
