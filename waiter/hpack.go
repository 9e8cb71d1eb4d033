package main

import (
	"errors"
	"io"
	"strings"
	"sync"
)

// As much of HPACK (RFC 7541) as it takes to read the answer of a peer that may not keep a dynamic table. It is decoded as it
// arrives, since there may be megabytes of it.

var errFields = errors.New("answered with broken HTTP/2 headers")

// appendInt appends n to the last byte of out, of which prefix bits are free.
func appendInt(out []byte, prefix, n int) []byte {
	limit := 1<<prefix - 1
	if n < limit {
		out[len(out)-1] |= byte(n)
		return out
	}
	out[len(out)-1] |= byte(limit)
	for n -= limit; n >= 128; n >>= 7 {
		out = append(out, byte(n)|128)
	}
	return append(out, byte(n))
}

func appendText(out []byte, text string) []byte {
	return append(appendInt(append(out, 0), 7, len(text)), text...)
}

// staticStatus are the values of :status in the static table, from index 8 on.
var staticStatus = []string{"200", "204", "206", "304", "400", "404", "500"}

// staticName is a name in the static table, empty where it doesn't matter here.
func staticName(index int) (name string, ok bool) {
	switch {
	case index < 8 || index > 61: // the pseudo-headers of requests, and what only a dynamic table has
		return "", false
	case index < 8+len(staticStatus):
		return ":status", true
	case index == 28:
		return "content-length", true
	case index == 31:
		return "content-type", true
	case index == 46:
		return "location", true
	default:
		return "", true
	}
}

// decodeFields calls field for each header whose name matters, with the first maxKept bytes of its value.
func decodeFields(block io.ByteReader, field func(name, value string)) error {
	d := fieldReader{block: block}
	regular := false // pseudo-headers come first
	for {
		b, err := block.ReadByte()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		name, value, known := "", "", true
		switch {
		case b&0x80 != 0: // indexed
			i := d.int(b, 7)
			if name, known = staticName(i); name == ":status" {
				value = staticStatus[i-8]
			}
		case b&0xe0 == 0x20: // size of the dynamic table
			d.int(b, 5)
			if d.err != nil {
				return d.err
			}
			continue
		default: // literal: indexed from now on, not indexed, never indexed
			prefix := 4
			if b&0x40 != 0 {
				prefix = 6
			}
			if i := d.int(b, prefix); i != 0 {
				name, known = staticName(i)
			} else if name = d.text(readBuffer, isFieldName); name == "" || name != ":status" && strings.Contains(name, ":") {
				known = false
			}
			value = d.text(maxKept, isFieldValue)
		}
		if d.err != nil {
			return d.err
		}
		if regular = regular || name != ":status"; !known || regular && name == ":status" {
			return errFields
		}
		if name != "" {
			field(name, value)
		}
	}
}

// isFieldName is whether a byte can be in a name: names are in lower case here.
func isFieldName(b byte) bool { return isToken(b) && (b < 'A' || b > 'Z') || b == ':' }

func isFieldValue(b byte) bool { return b >= ' ' && b != 0x7f || b == '\t' }

// A fieldReader reads the numbers and texts of a block; the first error stays.
type fieldReader struct {
	block io.ByteReader
	err   error
}

func (d *fieldReader) next() byte {
	if d.err != nil {
		return 0
	}
	b, err := d.block.ReadByte()
	if err == io.EOF {
		err = errFields
	}
	d.err = err
	return b
}

// int reads a number whose first bits are in b.
func (d *fieldReader) int(b byte, prefix int) int {
	limit := 1<<prefix - 1
	n := int(b) & limit
	if n < limit {
		return n
	}
	for shift := 0; shift <= 21; shift += 7 {
		b := d.next()
		n += int(b&127) << shift
		if b&128 == 0 {
			return n
		}
	}
	d.err = orError(d.err, errFields)
	return 0
}

// text reads a string, checks each byte and returns the first keep bytes.
func (d *fieldReader) text(keep int, valid func(byte) bool) string {
	b := d.next()
	n := d.int(b, 7)
	var out []byte
	put := func(b byte) {
		if !valid(b) {
			d.err = orError(d.err, errFields)
		}
		if len(out) < keep {
			out = append(out, b)
		}
	}
	code := huffmanReader{put: put}
	for ; n > 0 && d.err == nil; n-- {
		if c := d.next(); b&0x80 == 0 {
			put(c)
		} else if !code.add(c) {
			d.err = orError(d.err, errFields)
		}
	}
	if !code.ended() {
		d.err = orError(d.err, errFields)
	}
	return string(out)
}

// huffmanLengths has the length in bits of each symbol's code (RFC 7541, appendix B); the code is canonical, so the
// lengths are all there is to know.
const huffmanLengths = "" +
	"\x0d\x17\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x18\x1e\x1c\x1c\x1e\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1e\x1c" +
	"\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x06\x0a\x0a\x0c\x0d\x06\x08\x0b\x0a\x0a\x08\x0b\x08\x06\x06\x06" +
	"\x05\x05\x05\x06\x06\x06\x06\x06\x06\x06\x07\x08\x0f\x06\x0c\x0a\x0d\x06\x07\x07\x07\x07\x07\x07" +
	"\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x08\x07\x08\x0d\x13\x0d\x0e\x06" +
	"\x0f\x05\x06\x05\x06\x05\x06\x06\x06\x05\x07\x07\x06\x06\x06\x05\x06\x07\x06\x05\x05\x06\x07\x07" +
	"\x07\x07\x07\x0f\x0b\x0e\x0d\x1c\x14\x16\x14\x14\x16\x16\x16\x17\x16\x17\x17\x17\x17\x17\x18\x17" +
	"\x18\x18\x16\x17\x18\x17\x17\x17\x17\x15\x16\x17\x16\x17\x17\x18\x16\x15\x14\x16\x16\x17\x17\x15" +
	"\x17\x16\x16\x18\x15\x16\x17\x17\x15\x15\x16\x15\x17\x16\x17\x17\x14\x16\x16\x16\x17\x16\x16\x17" +
	"\x1a\x1a\x14\x13\x16\x17\x16\x19\x1a\x1a\x1a\x1b\x1b\x1a\x18\x19\x13\x15\x1a\x1b\x1b\x1a\x1b\x18" +
	"\x15\x15\x1a\x1a\x1c\x1b\x1b\x1b\x14\x18\x14\x15\x16\x15\x15\x17\x16\x16\x19\x19\x18\x18\x1a\x17" +
	"\x1a\x1b\x1a\x1a\x1b\x1b\x1b\x1b\x1b\x1c\x1b\x1b\x1b\x1b\x1b\x1a"

type huffmanTree struct {
	first   [31]uint32 // the first code of each length
	count   [31]uint32
	offset  [31]uint32 // of its symbol in symbols
	symbols []byte
}

var huffmanCode = sync.OnceValue(func() *huffmanTree {
	t := &huffmanTree{}
	code := uint32(0)
	for length := 1; length <= 30; length++ {
		code <<= 1
		t.first[length], t.offset[length] = code, uint32(len(t.symbols))
		for symbol := range len(huffmanLengths) {
			if int(huffmanLengths[symbol]) == length {
				t.symbols = append(t.symbols, byte(symbol))
				t.count[length]++
			}
		}
		code += t.count[length]
	}
	return t
})

// A huffmanReader puts the symbols of what is added.
type huffmanReader struct {
	put    func(byte)
	code   uint32
	length int
}

func (h *huffmanReader) add(b byte) bool {
	t := huffmanCode()
	for bit := 7; bit >= 0; bit-- {
		h.code = h.code<<1 | uint32(b>>bit)&1
		if h.length++; h.length > 30 {
			return false
		}
		if i := h.code - t.first[h.length]; h.code >= t.first[h.length] && i < t.count[h.length] {
			h.put(t.symbols[t.offset[h.length]+i])
			h.code, h.length = 0, 0
		}
	}
	return true
}

// ended is whether what is left is padding: fewer than eight bits, all ones.
func (h *huffmanReader) ended() bool { return h.length < 8 && h.code == 1<<h.length-1 }
