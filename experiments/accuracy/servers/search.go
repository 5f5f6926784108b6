// SPDX-License-Identifier: GPL-2.0

// search.go - /hotel.Search/Nearby served by gRPC for Go, with the messages of experiments/common/hotel.h.  It has no
// city: every call hashes its request for a while and offers one invented hotel.  Prints `ready` when it listens.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
)

const (
	requestSize = 24
	nrRounds    = 1000 // some 100 us of work per call
)

// bytesCodec leaves messages as they are; it takes the place of protobuf under its name.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(v interface{}) ([]byte, error) { return *v.(*[]byte), nil }

func (bytesCodec) Unmarshal(data []byte, v interface{}) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

func nearby(_ interface{}, _ context.Context, decode func(interface{}) error, _ grpc.UnaryServerInterceptor) (
	interface{}, error) {
	var request []byte
	if err := decode(&request); err != nil {
		return nil, err
	}
	if len(request) != requestSize {
		return nil, errors.New("not a request of hotel-search")
	}
	digest := sha256.Sum256(request)
	for i := 0; i < nrRounds; i++ {
		digest = sha256.Sum256(digest[:])
	}
	answer := make([]byte, 12)
	binary.LittleEndian.PutUint32(answer, 1)
	copy(answer[4:], digest[:8])
	return &answer, nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: search-go PORT")
		os.Exit(2)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "search-go:", err)
		os.Exit(1)
	}
	encoding.RegisterCodec(bytesCodec{})
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "hotel.Search",
		HandlerType: (*interface{})(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Nearby", Handler: nearby}},
	}, struct{}{})
	fmt.Println("ready")
	if err := server.Serve(listener); err != nil {
		fmt.Fprintln(os.Stderr, "search-go:", err)
		os.Exit(1)
	}
}
