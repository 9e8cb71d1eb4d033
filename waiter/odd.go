package main

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

// oddAnswers are net/http's words for answers that it can't read, and ours.
var oddAnswers = []struct{ theirs, ours string }{
	{"malformed HTTP ", "answered something that is not HTTP/1"},
	{"suspiciously long trailer", "the trailer is longer than the buffer"},
	{"broken: malformed MIME header", "answered with a malformed header"},
	{"malformed MIME header", "the trailer is malformed"},
	{"bad Content-Length", "answered with a Content-Length that is not a number"},
	{"multiple Content-Length", "answered with two different Content-Lengths"},
	{"transfer encoding", "answered with a Transfer-Encoding other than chunked"},
	{"bad trailer key", "answered with a Trailer that announces the body's length"},
	{"headers exceeded", errLargeHeader},
	{"header list", errLargeHeader},
	{"chunk", "a chunk is malformed"},
	{"unsupported protocol scheme", "redirects to a scheme that is not http or https"},
	{"failed to parse Location", "redirects to something that is not a URL"},
	{"http2: ", "answered something that is not HTTP/2"},
	{"connection error: ", "answered something that is not HTTP/2"},
}

const errLargeHeader = "answered with more than 4 MiB of headers"

// explained says what is wrong with an answer. It quotes nothing: an answer may repeat a secret that was sent.
func explained(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE):
		return errors.New("closed the connection before it had answered")
	case isTimeout(err), isReset(err), errors.Is(err, http.ErrSchemeMismatch):
		return err
	}
	text := err.Error()
	if _, code, ok := strings.Cut(text, "stream error: stream ID 1; "); ok {
		code, _, _ := strings.Cut(code, ";")
		return errors.New("ended the call with HTTP/2 error " + code)
	}
	if _, code, ok := strings.Cut(strings.Replace(text, "ErrCode=", "ErrCode:", 1), "ErrCode:"); ok {
		code, _, _ := strings.Cut(code, ",")
		return errors.New("went away with HTTP/2 error " + code)
	}
	for _, odd := range oddAnswers {
		if strings.Contains(text, odd.theirs) {
			return errors.New(odd.ours)
		}
	}
	if strings.ContainsRune(text, '"') {
		return errors.New("answered something that can't be read")
	}
	return err
}
