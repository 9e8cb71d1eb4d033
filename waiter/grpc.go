package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// One call of grpc.health.v1.Health/Check over HTTP/2 without TLS, judged as grpc-go does for the kubelet
// (k8s.io/kubernetes/pkg/probe/grpc).

const (
	maxHealthData = 32 << 10 // the answer takes 7 bytes
	maxMetadata   = 16 << 20 // as grpc-go
	serving       = 1
)

var errNotGRPC = errors.New("answered something that is not gRPC")

func probeGRPC(ctx context.Context, address, service string) error {
	conn, err := dialBound(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	s := newStream(conn, maxMetadata)
	if err := s.request(healthRequest(address, service)); err != nil {
		return err
	}
	answer, err := readHealth(s)
	if err != nil {
		return wire(err)
	}
	return answer.judge()
}

func healthRequest(address, service string) (block, body []byte) {
	block = append(block, 0x83, 0x86) // :method POST, :scheme http
	block = appendText(append(block, 0x04), "/grpc.health.v1.Health/Check")
	block = appendText(append(block, 0x01), address) // :authority
	for _, f := range [][2]string{{"content-type", "application/grpc"}, {"te", "trailers"}, {"user-agent", "kube-probe/sidecar-first"}} {
		block = appendText(appendText(append(block, 0), f[0]), f[1])
	}
	if service != "" {
		body = append(binary.AppendUvarint([]byte{0x0a}, uint64(len(service))), service...)
	}
	// A message begins with a flag, here 0 for "not compressed", and its length.
	return block, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
}

// A healthAnswer is the server's answer to a health check.
type healthAnswer struct {
	httpStatus, contentType string
	status, message         string // grpc-status and grpc-message
	encoding                string
	data                    []byte
}

// readHealth reads headers, one message and trailers, or the trailers alone.
func readHealth(s *stream) (*healthAnswer, error) {
	a := &healthAnswer{}
	for {
		if kind, err := s.next(); err != nil {
			return nil, err
		} else if kind != frameHeaders {
			return nil, errNotGRPC
		}
		if err := a.readFields(s); err != nil {
			return nil, err
		}
		if !isGRPC(a.contentType) {
			informs := len(a.httpStatus) == 3 && a.httpStatus[0] == '1' && !s.over
			if informs {
				continue
			}
			return nil, fmt.Errorf("answered HTTP status %s with content-type %s, not gRPC", shown(a.httpStatus), shown(strconv.Quote(a.contentType)))
		}
		break
	}
	if s.over {
		return a, nil
	}
	encoding := a.encoding
	for {
		kind, err := s.next()
		if err != nil {
			return nil, err
		}
		if kind == frameHeaders {
			if !s.over {
				return nil, errTwoAnswer
			}
			err := a.readFields(s)
			a.encoding = encoding
			return a, err
		}
		if len(a.data)+s.left > maxHealthData {
			return nil, fmt.Errorf("answered with more than %d KiB", maxHealthData>>10)
		}
		p := make([]byte, s.left)
		if _, err := io.ReadFull(s.r, p); err != nil {
			return nil, err
		}
		a.data, s.left = append(a.data, p...), 0
		if s.over {
			return nil, errors.New("ended the call without a gRPC status")
		}
	}
}

// readFields reads one block of headers. Only the last block's status counts.
func (a *healthAnswer) readFields(s *stream) error {
	a.status, a.message, a.encoding, a.httpStatus = "", "", "", ""
	return decodeFields(s, func(name, value string) {
		switch name {
		case ":status":
			a.httpStatus = value
		case "content-type":
			if a.contentType == "" || isGRPC(value) {
				a.contentType = value
			}
		case "grpc-status":
			a.status = value
		case "grpc-message":
			a.message = value
		case "grpc-encoding":
			a.encoding = value
		}
	})
}

// isGRPC is whether a content type is application/grpc, alone or with a codec or parameters.
func isGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

func (a *healthAnswer) judge() error {
	code, err := strconv.ParseInt(a.status, 10, 32)
	if a.status == "" {
		return errors.New("ended the call without a gRPC status")
	}
	if code != 0 || err != nil {
		return fmt.Errorf("answered gRPC status %s: %s", shown(a.status), shown(unescaped(a.message)))
	}
	message, err := a.payload()
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
func (a *healthAnswer) payload() ([]byte, error) {
	if len(a.data) < 5 || a.data[0] > 1 || int64(binary.BigEndian.Uint32(a.data[1:])) != int64(len(a.data)-5) {
		return nil, errNotGRPC
	}
	message := a.data[5:]
	if a.data[0] == 0 {
		return message, nil
	}
	if a.encoding != "gzip" {
		return nil, fmt.Errorf("answered compressed by %s", shown(strconv.Quote(a.encoding)))
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
