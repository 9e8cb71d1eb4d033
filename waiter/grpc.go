package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// One call of grpc.health.v1.Health/Check over HTTP/2 without TLS (RFC 9113): the few frames that it takes, for the reason
// given in http.go.

const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePing         = 6
	frameGoAway       = 7
	frameContinuation = 9

	flagAck        = 1
	flagEndStream  = 1
	flagEndHeaders = 4
	flagPadded     = 8
	flagPriority   = 32

	maxFrame      = 16384 // what a peer may send that was told no other number
	maxHealthData = 4096  // the answer takes 7 bytes
	maxFields     = 64 << 10
	serving       = 1
)

var errNotHTTP2 = errors.New("answered something that is not gRPC")

func probeGRPC(ctx context.Context, address, service string) error {
	conn, err := dialBound(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(healthRequest(address, service)); err != nil {
		return err
	}
	answer, err := readAnswer(bufio.NewReaderSize(conn, maxHealthData), conn)
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("closed the connection before it had answered")
		}
		return err
	}
	return answer.judge()
}

func healthRequest(address, service string) []byte {
	var fields []byte
	fields = append(fields, 0x83, 0x86) // :method POST, :scheme http
	fields = appendText(append(fields, 0x04), "/grpc.health.v1.Health/Check")
	fields = appendText(append(fields, 0x01), address) // :authority
	for _, f := range [][2]string{{"content-type", "application/grpc"}, {"te", "trailers"}, {"user-agent", "kube-probe/sidecar-first"}} {
		fields = appendText(appendText(append(fields, 0), f[0]), f[1])
	}
	var body []byte
	if service != "" {
		body = append(binary.AppendUvarint([]byte{0x0a}, uint64(len(service))), service...)
	}
	// Not compressed, then the length.
	body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)

	out := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	// HEADER_TABLE_SIZE 0, so that every field of the answer stands for itself; ENABLE_PUSH 0.
	out = appendFrame(out, frameSettings, 0, 0, []byte{0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0})
	out = appendFrame(out, frameHeaders, flagEndHeaders, 1, fields)
	return appendFrame(out, frameData, flagEndStream, 1, body)
}

func appendFrame(out []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	out = append(out, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	return append(binary.BigEndian.AppendUint32(out, stream), payload...)
}

// A healthAnswer is what came back on the call's stream.
type healthAnswer struct {
	status, grpcStatus, grpcMessage string
	data                            []byte
}

// readAnswer reads frames until the call's stream ends, and acknowledges what must be.
func readAnswer(r io.Reader, w io.Writer) (*healthAnswer, error) {
	answer := &healthAnswer{}
	var (
		head   [9]byte
		fields []byte
		ends   bool // with these fields
		first  = true
	)
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return nil, err
		}
		n := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
		kind, flags := head[3], head[4]
		if n > maxFrame || first && kind != frameSettings {
			return nil, errNotHTTP2
		}
		first = false
		p := make([]byte, n)
		if _, err := io.ReadFull(r, p); err != nil {
			return nil, err
		}
		ours := binary.BigEndian.Uint32(head[5:])&0x7fffffff == 1
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			w.Write(appendFrame(nil, frameSettings, flagAck, 0, nil))
		case kind == framePing && flags&flagAck == 0:
			w.Write(appendFrame(nil, framePing, flagAck, 0, p))
		case kind == frameGoAway && n >= 8 && binary.BigEndian.Uint32(p)&0x7fffffff < 1:
			return nil, fmt.Errorf("went away with HTTP/2 error %d", binary.BigEndian.Uint32(p[4:]))
		case kind == frameReset && ours && n == 4:
			return nil, fmt.Errorf("ended the call with HTTP/2 error %d", binary.BigEndian.Uint32(p))
		case kind == frameData && ours:
			p, ok := unpad(p, flags)
			if !ok || len(answer.data)+len(p) > maxHealthData {
				return nil, errNotHTTP2
			}
			answer.data = append(answer.data, p...)
			if flags&flagEndStream != 0 {
				return answer, nil
			}
		case kind == frameHeaders && ours, kind == frameContinuation && ours:
			if kind == frameHeaders {
				var ok bool
				if p, ok = unpad(p, flags); !ok {
					return nil, errNotHTTP2
				}
				if flags&flagPriority != 0 {
					p = p[min(5, len(p)):]
				}
				ends = flags&flagEndStream != 0
			}
			if fields = append(fields, p...); len(fields) > maxFields {
				return nil, errNotHTTP2
			}
			if flags&flagEndHeaders == 0 {
				break
			}
			if err := decodeFields(fields, answer.field); err != nil {
				return nil, err
			}
			fields = fields[:0]
			if ends {
				return answer, nil
			}
		}
	}
}

func unpad(p []byte, flags byte) ([]byte, bool) {
	if flags&flagPadded == 0 {
		return p, true
	}
	if len(p) == 0 || int(p[0]) >= len(p) {
		return nil, false
	}
	return p[1 : len(p)-int(p[0])], true
}

func (a *healthAnswer) field(name, value string) {
	switch name {
	case ":status":
		a.status = value
	case "grpc-status":
		a.grpcStatus = value
	case "grpc-message":
		a.grpcMessage = value
	}
}

func (a *healthAnswer) judge() error {
	if a.status != "200" {
		return fmt.Errorf("answered HTTP status %s, not gRPC", shown(a.status))
	}
	if a.grpcStatus != "0" {
		if a.grpcStatus == "" {
			return errNotHTTP2
		}
		return fmt.Errorf("answered gRPC status %s: %s", shown(a.grpcStatus), shown(a.grpcMessage))
	}
	status, ok := healthStatus(a.data)
	if !ok {
		return errNotHTTP2
	}
	if status != serving {
		names := []string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}
		if status < uint64(len(names)) {
			return errors.New("answered " + names[status])
		}
		return fmt.Errorf("answered health status %d", status)
	}
	return nil
}

// healthStatus reads field 1 of the one message in data.
func healthStatus(data []byte) (status uint64, ok bool) {
	if len(data) < 5 || data[0] != 0 || int(binary.BigEndian.Uint32(data[1:])) != len(data)-5 {
		return 0, false
	}
	r := bytes.NewReader(data[5:])
	for r.Len() > 0 {
		tag, err := binary.ReadUvarint(r)
		if err != nil {
			return 0, false
		}
		switch tag & 7 {
		case 0:
			value, err := binary.ReadUvarint(r)
			if err != nil {
				return 0, false
			}
			if tag>>3 == 1 {
				status = value
			}
		case 2:
			n, err := binary.ReadUvarint(r)
			if err != nil || n > uint64(r.Len()) {
				return 0, false
			}
			r.Seek(int64(n), io.SeekCurrent)
		default:
			return 0, false
		}
	}
	return status, true
}
