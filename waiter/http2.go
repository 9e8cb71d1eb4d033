package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
)

// The few frames of HTTP/2 (RFC 9113) that one request takes, for the reason given in http.go.

const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePush         = 5
	framePing         = 6
	frameGoAway       = 7
	frameContinuation = 9

	flagAck        = 1
	flagEndStream  = 1
	flagEndHeaders = 4
	flagPadded     = 8
	flagPriority   = 32

	// The largest frame that a peer may send unless we allow more.
	maxFrame = 16384
)

var (
	errNotHTTP2  = errors.New("answered something that is not HTTP/2")
	errTwoAnswer = errors.New("answered more than once")
)

// ask2 makes a GET.
func ask2(conn *boundConn, target *url.URL, fields []header) (*response, error) {
	block := []byte{0x82} // :method GET
	block = appendText(append(block, 0x01), fields[0].Value)
	block = appendText(append(block, 0x04), target.RequestURI())
	block = append(block, 0x87) // :scheme https
	for _, f := range fields[1:] {
		switch name := strings.ToLower(f.Name); name {
		case "connection", "proxy-connection", "transfer-encoding", "upgrade", "keep-alive":
			// HTTP/2 doesn't have these.
		default:
			block = appendText(appendText(append(block, 0), name), f.Value)
		}
	}
	s := newStream(conn, maxHeaderBytes)
	if err := s.request(block, nil); err != nil {
		return nil, err
	}
	for {
		if kind, err := s.next(); err != nil {
			return nil, err
		} else if kind != frameHeaders {
			return nil, errNotHTTP2
		}
		a, err := s.answer()
		if err != nil {
			return nil, err
		}
		if a.code < 100 || a.code > 199 {
			return a, nil
		}
		if s.over {
			return nil, errNotHTTP2
		}
	}
}

func (s *stream) answer() (*response, error) {
	a := &response{length: -1}
	var status, location, length []string
	if err := decodeFields(s, func(name, value string) {
		switch name {
		case ":status":
			status = append(status, value)
		case "location":
			location = append(location, value)
		case "content-length":
			length = append(length, value)
		}
	}); err != nil {
		return nil, err
	}
	var err error
	if len(status) != 1 {
		return nil, errFields
	} else if a.code, err = strconv.Atoi(status[0]); err != nil {
		return nil, errFields
	}
	if len(location) > 0 {
		a.location = location[0]
	}
	// The frames delimit the body, so an invalid number is ignored.
	if len(length) == 1 {
		if n, err := strconv.ParseUint(length[0], 10, 63); err == nil {
			a.length = int64(n)
		}
	}
	a.body = &streamBody{s, a.length}
	return a, nil
}

// A streamBody checks that the data has the announced length; -1 if none was announced.
type streamBody struct {
	s    *stream
	left int64
}

func (b *streamBody) Read(p []byte) (int, error) {
	n, err := b.s.Read(p)
	if b.left >= 0 {
		if b.left -= int64(n); b.left < 0 {
			return n, errors.New("more than its Content-Length")
		}
		if err == io.EOF && b.left > 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	return n, err
}

// A stream is the only request on a connection, and reads the answer.
type stream struct {
	r       *bufio.Reader
	w       io.Writer
	settled bool // the peer's SETTINGS have come
	allowed int  // bytes of headers that may still come
	// Of the current frame: its flags, the bytes left to read, and the padding after them.
	flags     byte
	left, pad int
	over      bool // END_STREAM was set
}

func newStream(conn io.ReadWriter, maxHeaders int) *stream {
	return &stream{r: bufio.NewReaderSize(conn, readBuffer), w: conn, allowed: maxHeaders}
}

// request sends everything at once: the preface, our settings, and the request with its body (nil: none).
func (s *stream) request(block, body []byte) error {
	out := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	// HEADER_TABLE_SIZE 0, so that every field of the answer stands for itself; ENABLE_PUSH 0.
	out = appendFrame(out, frameSettings, 0, 0, []byte{0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0})
	kind, flags := byte(frameHeaders), byte(0)
	if body == nil {
		flags = flagEndStream
	}
	for ; len(block) > maxFrame; block, kind, flags = block[maxFrame:], frameContinuation, 0 {
		out = appendFrame(out, kind, flags, 1, block[:maxFrame])
	}
	out = appendFrame(out, kind, flags|flagEndHeaders, 1, block)
	if body != nil {
		out = appendFrame(out, frameData, flagEndStream, 1, body)
	}
	_, err := s.w.Write(out)
	return err
}

func appendFrame(out []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	n := len(payload)
	out = append(out, byte(n>>16), byte(n>>8), byte(n), kind, flags)
	return append(binary.BigEndian.AppendUint32(out, stream), payload...)
}

func (s *stream) head() (kind byte, id uint32, err error) {
	var head [9]byte
	if _, err := io.ReadFull(s.r, head[:]); err != nil {
		return 0, 0, err
	}
	s.left, s.pad, s.flags = int(head[0])<<16|int(head[1])<<8|int(head[2]), 0, head[4]
	if s.left > maxFrame {
		return 0, 0, errNotHTTP2
	}
	return head[3], binary.BigEndian.Uint32(head[5:]) & 0x7fffffff, nil
}

// next advances to the next HEADERS or DATA frame and handles the other frames on the way.
func (s *stream) next() (byte, error) {
	for {
		if _, err := s.r.Discard(s.left + s.pad); err != nil {
			return 0, err
		}
		kind, id, err := s.head()
		if err != nil {
			return 0, err
		}
		if !s.settled && kind != frameSettings {
			return 0, errNotHTTP2
		}
		s.settled = true
		switch kind {
		case frameHeaders, frameData:
			if id != 1 {
				return 0, errNotHTTP2
			}
			s.over = s.flags&flagEndStream != 0
			return kind, s.unpad(kind)
		case framePush, frameContinuation:
			return 0, errNotHTTP2
		case frameSettings, framePing, frameGoAway, frameReset:
			p := make([]byte, s.left)
			if _, err := io.ReadFull(s.r, p); err != nil {
				return 0, err
			}
			s.left = 0
			if err := s.control(kind, id, p); err != nil {
				return 0, err
			}
		}
	}
}

func (s *stream) control(kind byte, id uint32, p []byte) error {
	ack := s.flags&flagAck != 0
	switch {
	case (kind == frameReset) != (id != 0):
		return errNotHTTP2
	case kind == frameSettings:
		if len(p)%6 != 0 || ack && len(p) > 0 {
			return errNotHTTP2
		}
		if !ack {
			s.w.Write(appendFrame(nil, frameSettings, flagAck, 0, nil))
		}
	case kind == framePing:
		if len(p) != 8 {
			return errNotHTTP2
		}
		if !ack {
			s.w.Write(appendFrame(nil, framePing, flagAck, 0, p))
		}
	case kind == frameGoAway:
		if len(p) < 8 {
			return errNotHTTP2
		}
		if binary.BigEndian.Uint32(p)&0x7fffffff < 1 {
			return fmt.Errorf("went away with HTTP/2 error %d", binary.BigEndian.Uint32(p[4:]))
		}
	default:
		if len(p) != 4 {
			return errNotHTTP2
		}
		if id == 1 {
			return fmt.Errorf("ended the call with HTTP/2 error %d", binary.BigEndian.Uint32(p))
		}
	}
	return nil
}

// unpad skips the priority and takes the padding out of left.
func (s *stream) unpad(kind byte) error {
	skip := 0
	if s.flags&flagPadded != 0 {
		if s.left == 0 {
			return errNotHTTP2
		}
		pad, err := s.r.ReadByte()
		if err != nil {
			return err
		}
		s.left, s.pad = s.left-1-int(pad), int(pad)
	}
	if kind == frameHeaders && s.flags&flagPriority != 0 {
		skip = 5
	}
	if s.left -= skip; s.left < 0 {
		return errNotHTTP2
	}
	_, err := s.r.Discard(skip)
	return err
}

// ReadByte reads from a block of headers, across CONTINUATION frames. io.EOF is the end of the block.
func (s *stream) ReadByte() (byte, error) {
	for s.left == 0 {
		if _, err := s.r.Discard(s.pad); err != nil {
			return 0, noEOF(err)
		}
		if s.pad = 0; s.flags&flagEndHeaders != 0 {
			return 0, io.EOF
		}
		kind, id, err := s.head()
		if err != nil {
			return 0, noEOF(err)
		}
		if kind != frameContinuation || id != 1 {
			return 0, errNotHTTP2
		}
	}
	if s.allowed--; s.allowed < 0 {
		return 0, errors.New("answered with too many headers")
	}
	s.left--
	b, err := s.r.ReadByte()
	return b, noEOF(err)
}

// Read reads data. io.EOF is the end of the stream.
func (s *stream) Read(p []byte) (int, error) {
	for s.left == 0 {
		if s.over {
			return 0, io.EOF
		}
		kind, err := s.next()
		if err != nil {
			return 0, noEOF(err)
		}
		if kind == frameHeaders {
			if !s.over {
				return 0, errTwoAnswer
			}
			return 0, s.trailers()
		}
	}
	n, err := s.r.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, noEOF(err)
}

// trailers checks that the trailers are well-formed, and returns io.EOF if they are.
func (s *stream) trailers() error {
	status := false
	if err := decodeFields(s, func(name, _ string) { status = status || name == ":status" }); err != nil {
		return err
	}
	if status {
		return errTwoAnswer
	}
	return io.EOF
}
