// Verify a Postern webhook in Go. Usage: POSTERN_SECRET=... go run verify.go "$X_WEBHOOK_SIGNATURE" < body
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

func isGenuine(secret string, body []byte, signature string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	expected := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(expected), []byte(signature)) // takes the same time wherever they differ
}

func main() {
	secret := os.Getenv("POSTERN_SECRET")
	if secret == "" {
		fmt.Fprintln(os.Stderr, "POSTERN_SECRET is not set")
		os.Exit(2)
	}
	body, err := io.ReadAll(os.Stdin)
	if err == nil && len(os.Args) > 1 && isGenuine(secret, body, os.Args[1]) {
		fmt.Println("genuine")
		return
	}
	fmt.Println("forged")
	os.Exit(1)
}
