//go:build tools

// Package tools names the programs to build, so that go.mod and go.sum hold what they need.
package tools

import (
	_ "knative.dev/caching/config"
	_ "knative.dev/networking/config"
	_ "knative.dev/serving/cmd/activator"
	_ "knative.dev/serving/cmd/autoscaler"
	_ "knative.dev/serving/cmd/autoscaler-hpa"
	_ "knative.dev/serving/cmd/controller"
	_ "knative.dev/serving/cmd/queue"
	_ "knative.dev/serving/cmd/webhook"
)
