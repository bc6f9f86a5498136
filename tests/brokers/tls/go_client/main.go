// A client in Go: sends one record over TLS, with its secrets in a key log.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// main takes the broker's address, the certificate of its authority, a topic and the path of the key log.
func main() {
	authority, err := os.ReadFile(os.Args[2])
	check(err)
	keys, err := os.OpenFile(os.Args[4], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client, err := kgo.NewClient(
		kgo.SeedBrokers(os.Args[1]),
		kgo.ClientID("franz-go"),
		kgo.AllowAutoTopicCreation(),
		kgo.DialTLSConfig(&tls.Config{RootCAs: roots, KeyLogWriter: keys}),
	)
	check(err)
	defer client.Close()
	deadline, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	check(client.ProduceSync(deadline, &kgo.Record{Topic: os.Args[3], Value: []byte("from franz-go")}).FirstErr())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
