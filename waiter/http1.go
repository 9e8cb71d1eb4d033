package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// HTTP/1 as net/http's client reads it (RFC 9112).

func ask1(conn *boundConn, target *url.URL, fields []header) (*response, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\n", target.RequestURI())
	if !saysConnection(fields) {
		fields = slices.Insert(fields, 1, header{"Connection", "close"})
	}
	for _, f := range fields {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, strings.Trim(f.Value, " \t"))
	}
	b.WriteString("\r\n")
	if _, err := conn.Write(b.Bytes()); err != nil {
		return nil, err
	}
	return readAnswer1(bufio.NewReaderSize(conn, readBuffer))
}

// saysConnection reports whether the given headers already decide what happens to the connection.
func saysConnection(fields []header) bool {
	tokens := strings.FieldsFunc(strings.ToLower(find(fields, "Connection")), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	return slices.Contains(tokens, "close") || slices.Contains(tokens, "upgrade") && find(fields, "Upgrade") != ""
}

// readAnswer1 reads up to the end of the headers of the first answer that isn't informational.
func readAnswer1(r *bufio.Reader) (*response, error) {
	lines := &lineReader{r: r, left: maxHeaderBytes}
	for {
		a, err := lines.answer()
		if err != nil {
			return nil, err
		}
		if a.code >= 200 || a.code < 100 || a.code == 101 {
			return a, nil
		}
	}
}

var (
	errNotHTTP1     = errors.New("answered something that is not HTTP/1")
	errBadHeader    = errors.New("answered with a malformed header")
	errLength       = errors.New("answered with a Content-Length that is not a number")
	errTwoLengths   = errors.New("answered with two different Content-Lengths")
	errEncoding     = errors.New("answered with a Transfer-Encoding other than chunked")
	errTrailer      = errors.New("answered with a Trailer that announces the body's length")
	errManyHeaders  = errors.New("answered with more than 10 MiB of headers")
	errChunk        = errors.New("a chunk is malformed")
	errChunkTrailer = errors.New("the trailer is malformed or longer than 4 KiB")
)

func (l *lineReader) answer() (*response, error) {
	line, err := l.statusLine()
	if err != nil {
		return nil, err
	}
	code, atLeast11, err := parseStatus(line)
	if err != nil {
		return nil, err
	}
	var length, encoding, trailer, location []string
	for {
		name, value, err := l.field()
		if err != nil {
			return nil, err
		}
		switch strings.ToLower(name) {
		case "":
			a := &response{code: code, length: -1, body: l.r}
			if len(location) > 0 {
				a.location = location[0]
			}
			return a, a.setBody(l.r, length, encoding, trailer, atLeast11)
		case "content-length":
			length = append(length, value)
		case "transfer-encoding":
			encoding = append(encoding, value)
		case "trailer":
			trailer = append(trailer, value)
		case "location":
			location = append(location, value)
		}
		if len(length)+len(encoding)+len(trailer)+len(location) > 100 {
			return nil, errBadHeader
		}
	}
}

// setBody finds where the body ends, and refuses headers that contradict each other.
func (a *response) setBody(r *bufio.Reader, length, encoding, trailer []string, atLeast11 bool) error {
	chunked := false
	if len(encoding) > 0 && atLeast11 {
		if len(encoding) > 1 || !strings.EqualFold(encoding[0], "chunked") {
			return errEncoding
		}
		chunked = true
	}
	if len(length) > 0 {
		for _, other := range length {
			if other != length[0] {
				return errTwoLengths
			}
		}
		n, err := strconv.ParseUint(length[0], 10, 63)
		if err != nil {
			return errLength
		}
		a.length = int64(n)
	}
	switch {
	case a.code < 200, a.code == 204, a.code == 304:
		a.length = 0
	case chunked:
		a.length = -1
	}
	if chunked {
		for _, name := range strings.Split(strings.Join(trailer, ","), ",") {
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "transfer-encoding", "trailer", "content-length":
				return errTrailer
			}
		}
	}
	switch {
	case a.length >= 0:
		a.body = &sized{r, a.length}
	case chunked:
		a.body = &chunks{r: r}
	}
	return nil
}

// parseStatus reads an answer's first line.
func parseStatus(line string) (code int, atLeast11 bool, err error) {
	proto, rest, _ := strings.Cut(line, " ")
	digits, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	code, err = strconv.Atoi(digits)
	number, ok := strings.CutPrefix(proto, "HTTP/")
	if !ok || len(number) != 3 || number[1] != '.' || !isDigit(number[0]) || !isDigit(number[2]) || len(digits) != 3 || err != nil || code < 0 {
		return 0, false, errNotHTTP1
	}
	return code, number >= "1.1", nil
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// A lineReader reads the lines of headers byte by byte, since one may be larger than any buffer.
type lineReader struct {
	r    *bufio.Reader
	left int // bytes that may still come
}

func (l *lineReader) next() (byte, error) {
	if l.left--; l.left < 0 {
		return 0, errManyHeaders
	}
	b, err := l.r.ReadByte()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

func (l *lineReader) statusLine() (string, error) {
	var line []byte
	for {
		b, err := l.next()
		if err != nil {
			return "", err
		}
		if b == '\n' {
			return string(bytes.TrimSuffix(line, []byte("\r"))), nil
		}
		// The code is at the beginning; the reason may have any length.
		if len(line) < readBuffer {
			line = append(line, b)
		}
		if len(line) == 5 && string(line) != "HTTP/" {
			return "", errNotHTTP1
		}
	}
}

// field reads a header, including continuation lines. An empty name means the end of the headers.
func (l *lineReader) field() (name, value string, err error) {
	var kept []byte
	b, err := l.next()
	for ; err == nil && b != ':'; b, err = l.next() {
		if b == '\r' && len(kept) == 0 {
			b, err = l.next()
			if err == nil && b != '\n' {
				err = errBadHeader
			}
		}
		if err == nil && b == '\n' && len(kept) == 0 {
			return "", "", nil
		}
		// As net/http does, accept a space before the colon, but don't take the header for the one without it.
		if !isToken(b) && (b != ' ' || len(kept) == 0) {
			return "", "", orError(err, errBadHeader)
		}
		if len(kept) < readBuffer {
			kept = append(kept, b)
		}
	}
	if err != nil {
		return "", "", err
	}
	if len(kept) == 0 {
		return "", "", errBadHeader
	}
	name, kept = string(kept), nil
	for {
		if b, err = l.next(); err != nil {
			return "", "", err
		}
		if b == '\r' {
			if b, err = l.next(); err == nil && b != '\n' {
				err = errBadHeader
			}
			if err != nil {
				return "", "", err
			}
		}
		switch {
		case b == '\n':
			next, err := l.r.Peek(1)
			if err == nil && (next[0] == ' ' || next[0] == '\t') {
				kept = append(bytes.TrimRight(kept, " \t"), ' ')
				continue
			}
			return name, string(bytes.Trim(kept, " \t")), nil
		case b < ' ' && b != '\t', b == 0x7f:
			return "", "", errBadHeader
		case len(kept) < maxKept && (len(kept) > 0 || b != ' ' && b != '\t'):
			kept = append(kept, b)
		}
	}
}

func orError(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// A sized body ends after Content-Length bytes; ending earlier is an error.
type sized struct {
	r    io.Reader
	left int64
}

func (s *sized) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.left)])
	if s.left -= int64(n); err == io.EOF && s.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// chunks is a chunked body.
type chunks struct {
	r      *bufio.Reader
	left   uint64 // of the current chunk
	begun  bool   // a chunk has been read, and its line break not
	excess int64  // what came beside the data, beyond what is fair
	err    error
}

func (c *chunks) Read(p []byte) (n int, err error) {
	if c.left == 0 && c.err == nil {
		c.err = c.begin()
	}
	if c.err != nil {
		return 0, c.err
	}
	n, err = c.r.Read(p[:min(uint64(len(p)), c.left)])
	c.left -= uint64(n)
	return n, noEOF(err)
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// begin reads the line break after the last chunk and the size of the next one. io.EOF is the end of the body and its trailer.
func (c *chunks) begin() error {
	if c.begun {
		var end [2]byte
		if _, err := io.ReadFull(c.r, end[:]); err != nil {
			return noEOF(err)
		}
		if string(end[:]) != "\r\n" {
			return errChunk
		}
	}
	line, err := c.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		return errChunk
	} else if err != nil {
		return noEOF(err)
	}
	if i := bytes.IndexByte(line, '\r'); i < 0 || i != len(line)-2 {
		return errChunk
	}
	size, _, _ := strings.Cut(strings.TrimRight(string(line[:len(line)-2]), " \t"), ";")
	if c.left, err = strconv.ParseUint(size, 16, 64); err != nil || len(size) > 16 {
		return errChunk
	}
	// Extensions are allowed, but not without data: the figures are net/http's.
	c.excess = max(c.excess+int64(len(line))-16-2*int64(min(c.left, 1<<32)), 0)
	if c.excess > 16<<10 {
		return errChunk
	}
	if c.begun = true; c.left > 0 {
		return nil
	}
	return c.trailer()
}

// trailer reads what follows the last chunk. Like net/http, it accepts only a trailer that fits into the buffer.
func (c *chunks) trailer() error {
	end := []byte("\r\n")
	for size := 2; ; size++ {
		ahead, err := c.r.Peek(size)
		if bytes.HasSuffix(ahead, end) {
			break
		}
		if err == bufio.ErrBufferFull {
			return errChunkTrailer
		} else if err != nil {
			return noEOF(err)
		}
		if end = []byte("\r\n\r\n"); size == 2 {
			size++
		}
	}
	lines := &lineReader{r: c.r, left: readBuffer}
	for {
		name, _, err := lines.field()
		if errors.Is(err, errBadHeader) {
			return errChunkTrailer
		}
		if err != nil {
			return err
		}
		if name == "" {
			return io.EOF
		}
	}
}
