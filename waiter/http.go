package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// A GET as the kubelet's probes make it (k8s.io/kubernetes/pkg/probe/http), over HTTP/1 or, where a TLS server prefers it,
// HTTP/2. What it judges differently on purpose is listed in docs/decisions/0020-a-probe-asked-by-the-waiter.md.

const (
	maxRedirects   = 10       // as the kubelet
	maxBody        = 10 << 10 // of an answer, as the kubelet
	maxHeaderBytes = 4 << 20  // net/http keeps them all in memory, which is the sidecar's
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
func urlOf(scheme, address, path string) *url.URL {
	u, err := url.ParseRequestURI(path)
	if err != nil {
		u = &url.URL{Path: path}
	}
	u.Scheme, u.Host = scheme, address
	return u
}

// probeURL reads the path of an httpGet as the kubelet does: //a/b and http://a/b both ask for /b.
func probeURL(scheme, address, path string) (*url.URL, error) {
	u, err := url.Parse(path)
	if err != nil {
		u = &url.URL{Path: path}
	}
	u.Scheme, u.Host = scheme, address
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
	request := (&http.Request{Method: http.MethodGet, URL: target, Header: g.header()}).WithContext(ctx)
	request.Host = request.Header.Get("Host")
	var wantsCertificate atomic.Bool
	transport := newTransport(ctx)
	transport.Protocols.SetHTTP1(true)
	// A hook speaks only HTTP/1.
	transport.Protocols.SetHTTP2(!g.hook)
	// The kubelet's probes don't verify either, and have no certificate of their own.
	transport.TLSClientConfig = &tls.Config{
		InsecureSkipVerify: true,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			wantsCertificate.Store(true)
			return &tls.Certificate{}, nil
		},
	}
	client := http.Client{Transport: transport, CheckRedirect: sameHost}
	answer, err := client.Do(request)
	if err != nil {
		return 0, explained(refused(err, wantsCertificate.Load()))
	}
	defer answer.Body.Close()
	return answer.StatusCode, g.finish(answer)
}

// newTransport is for one attempt. Its connections end with ctx: net/http alone would let a dial or a handshake go on.
func newTransport(ctx context.Context) *http.Transport {
	return &http.Transport{
		DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err == nil {
				context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
			}
			return conn, err
		},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		Protocols:              &http.Protocols{},
		MaxResponseHeaderBytes: maxHeaderBytes,
		// Otherwise a server may send 4 MiB of a body that nobody reads.
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 64 << 10},
	}
}

func sameHost(next *http.Request, asked []*http.Request) error {
	if next.URL.Hostname() != asked[0].URL.Hostname() {
		return http.ErrUseLastResponse
	}
	if len(asked) >= maxRedirects {
		return fmt.Errorf("redirects more than %d times", maxRedirects)
	}
	return nil
}

// header are the request's headers as the kubelet makes them.
func (g getter) header() http.Header {
	headers := http.Header{}
	for _, h := range g.headers {
		headers.Add(h.Name, h.Value)
	}
	if _, ok := headers["User-Agent"]; !ok {
		headers.Set("User-Agent", g.userAgent)
	}
	if _, ok := headers["Accept"]; !ok {
		headers.Set("Accept", "*/*")
	} else if headers.Get("Accept") == "" {
		headers.Del("Accept")
	}
	return headers
}

// finish reads as much of the body as the kubelet does. If the body breaks off before that, the answer doesn't count.
func (g getter) finish(answer *http.Response) error {
	if g.hook && answer.ContentLength > maxBody {
		return nil
	}
	_, err := io.CopyN(io.Discard, answer.Body, maxBody)
	if g.hook || err == nil || err == io.EOF {
		return nil
	}
	if isTimeout(err) {
		return err
	}
	return errors.New("broke off in its body: " + explained(err).Error())
}

// refused names the usual reason for a TLS alert. In TLS 1.3 it comes only after the handshake.
func refused(err error, wantsCertificate bool) error {
	var op *net.OpError
	alert := errors.As(err, &op) && op.Op == "remote error"
	// The server may have closed before the request was written, and then the alert isn't read.
	if wantsCertificate && (alert || isReset(err)) {
		return errors.New("demands a client certificate, which probes don't have: " + plain(err))
	}
	if alert {
		return errors.New("refused the connection: " + plain(err))
	}
	return err
}
