package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// One call of grpc.health.v1.Health/Check over HTTP/2 without TLS, judged as grpc-go does for the kubelet
// (k8s.io/kubernetes/pkg/probe/grpc).

const (
	maxHealthData = 32 << 10 // the answer takes 7 bytes
	serving       = 1
)

var errNotGRPC = errors.New("answered something that is not gRPC")

func probeGRPC(ctx context.Context, address, service string) error {
	transport := newTransport(ctx)
	transport.Protocols.SetUnencryptedHTTP2(true)
	target := &url.URL{Scheme: "http", Host: address, Path: "/grpc.health.v1.Health/Check"}
	request, err := http.NewRequestWithContext(refusingHints(ctx), http.MethodPost, target.String(), bytes.NewReader(healthRequest(service)))
	if err != nil {
		return err
	}
	request.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "User-Agent": {"kube-probe/sidecar-first"}}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return explained(err)
	}
	defer answer.Body.Close()
	if !slices.ContainsFunc(answer.Header["Content-Type"], isGRPC) {
		return fmt.Errorf("answered HTTP status %d with content-type %s, not gRPC", answer.StatusCode, shown(strconv.Quote(answer.Header.Get("Content-Type"))))
	}
	if answer.Body == http.NoBody {
		return judge(answer.Header, "", nil)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxHealthData+1))
	if err != nil {
		return explained(err)
	}
	if len(data) > maxHealthData {
		return fmt.Errorf("answered with more than %d KiB", maxHealthData>>10)
	}
	return judge(answer.Trailer, last(answer.Header, "Grpc-Encoding"), data)
}

// refusingHints takes informational headers of gRPC for what grpc-go does: an answer, of which another one follows.
func refusingHints(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: func(_ int, header textproto.MIMEHeader) error {
		if slices.ContainsFunc(header["Content-Type"], isGRPC) {
			return errNotGRPC
		}
		return nil
	}})
}

func healthRequest(service string) []byte {
	var body []byte
	if service != "" {
		body = append(binary.AppendUvarint([]byte{0x0a}, uint64(len(service))), service...)
	}
	// A message begins with a flag, here 0 for "not compressed", and its length.
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
}

func last(header http.Header, name string) string {
	values := header[name]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// isGRPC is whether a content type is application/grpc, alone or with a codec or parameters.
func isGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// judge judges a call by its trailers and its one message.
func judge(trailers http.Header, encoding string, data []byte) error {
	text := last(trailers, "Grpc-Status")
	code, err := strconv.ParseInt(text, 10, 32)
	if text == "" {
		return errors.New("ended the call without a gRPC status")
	}
	if code != 0 || err != nil {
		return fmt.Errorf("answered gRPC status %s: %s", shown(text), shown(unescaped(last(trailers, "Grpc-Message"))))
	}
	message, err := payload(encoding, data)
	if err != nil {
		return err
	}
	status, ok := healthStatus(message)
	if !ok {
		return errNotGRPC
	}
	if status != serving {
		names := []string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}
		if 0 <= status && int(status) < len(names) {
			return errors.New("answered " + names[status])
		}
		return fmt.Errorf("answered health status %d", status)
	}
	return nil
}

// payload is the message in the answer, decompressed.
func payload(encoding string, data []byte) ([]byte, error) {
	if len(data) < 5 || data[0] > 1 || int64(binary.BigEndian.Uint32(data[1:])) != int64(len(data)-5) {
		return nil, errNotGRPC
	}
	message := data[5:]
	if data[0] == 0 {
		return message, nil
	}
	if encoding != "gzip" {
		return nil, fmt.Errorf("answered compressed by %s", shown(strconv.Quote(encoding)))
	}
	r, err := gzip.NewReader(bytes.NewReader(message))
	if err != nil {
		return nil, errNotGRPC
	}
	if message, err = io.ReadAll(io.LimitReader(r, maxHealthData)); err != nil {
		return nil, errNotGRPC
	}
	return message, nil
}

// unescaped decodes the percent-encoding of a grpc-message.
func unescaped(message string) string {
	var out []byte
	for i := 0; i < len(message); i++ {
		b := message[i]
		if b == '%' && i+2 < len(message) {
			if n, err := strconv.ParseUint(message[i+1:i+3], 16, 8); err == nil {
				b = byte(n)
				i += 2
			}
		}
		out = append(out, b)
	}
	return string(out)
}

// healthStatus reads field 1 of a HealthCheckResponse and skips what it doesn't know.
func healthStatus(message []byte) (status int32, ok bool) {
	r := bytes.NewReader(message)
	var groups []uint64 // that are open
	for r.Len() > 0 {
		tag, err := binary.ReadUvarint(r)
		number, size := tag>>3, uint64(0)
		if err != nil || number == 0 || number > 1<<29-1 {
			return 0, false
		}
		switch tag & 7 {
		case 0:
			value, err := binary.ReadUvarint(r)
			if err != nil {
				return 0, false
			}
			if number == 1 && len(groups) == 0 {
				status = int32(value)
			}
		case 1:
			size = 8
		case 2:
			if size, err = binary.ReadUvarint(r); err != nil {
				return 0, false
			}
		case 3:
			groups = append(groups, number)
		case 4:
			if len(groups) == 0 || groups[len(groups)-1] != number {
				return 0, false
			}
			groups = groups[:len(groups)-1]
		case 5:
			size = 4
		default:
			return 0, false
		}
		if size > uint64(r.Len()) {
			return 0, false
		}
		r.Seek(int64(size), io.SeekCurrent)
	}
	return status, len(groups) == 0
}
