//go:build e2e

// Package tools names the suites and servers to build, so that go.mod and go.sum hold what they need.
package tools

import (
	_ "knative.dev/serving/test"
	_ "knative.dev/serving/test/conformance"
	_ "knative.dev/serving/test/test_images/runtime"
)
