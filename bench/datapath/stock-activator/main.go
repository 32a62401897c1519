// Stock's activator without a cluster: its whole handler chain behind a listener, its own throttler
// fed by informers over a fake API that holds one revision with as many ready targets as asked.
// Metrics and tracing have protocol "none", which is stock's default and its cheapest setting.
// All targets lead to one upstream, so that connections are reused whatever target is chosen.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
		"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	netcfg "knative.dev/networking/pkg/config"
	netprobe "knative.dev/networking/pkg/http/probe"
	kubefake "knative.dev/pkg/client/injection/kube/client/fake"
	_ "knative.dev/pkg/client/injection/kube/informers/core/v1/endpoints/fake"
	_ "knative.dev/pkg/client/injection/kube/informers/core/v1/service/fake"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection"
	"knative.dev/pkg/logging"
	pkgnet "knative.dev/pkg/network"
	"knative.dev/pkg/observability/metrics"
	"knative.dev/pkg/observability/tracing"
	activatorconfig "knative.dev/serving/pkg/activator/config"
	activatorhandler "knative.dev/serving/pkg/activator/handler"
	activatornet "knative.dev/serving/pkg/activator/net"
	"knative.dev/serving/pkg/apis/serving"
	v1 "knative.dev/serving/pkg/apis/serving/v1"
	asmetrics "knative.dev/serving/pkg/autoscaler/metrics"
	servingfake "knative.dev/serving/pkg/client/injection/client/fake"
	_ "knative.dev/serving/pkg/client/injection/informers/serving/v1/revision/fake"
	pkghttp "knative.dev/serving/pkg/http"
	"knative.dev/serving/pkg/http/handler"
)

const (
	namespace = "default"
	revision  = "echo-00001"
	podName   = "activator"
	// As the activator's own defaults.
	maxIdle        = 1000
	maxIdlePerHost = 100
	timeoutSeconds = 300
	// Addresses in one subset, as the Endpoints API allows.
	subsetSize = 1000
)

func init() {
	// The fake clients do not send the bookmarks that a streaming list waits for.
	os.Setenv("KUBE_FEATURE_WatchListClient", "false")
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8500", "address to listen at")
	upstream := flag.String("upstream", "127.0.0.1:8600", "where every target leads")
	targets := flag.Int("targets", 10000, "ready targets")
	concurrency := flag.Int64("concurrency", 10, "containerConcurrency; up to 3 takes the first free target")
	flag.Parse()

	logger := zap.NewNop().Sugar()
	ctx := logging.WithLogger(context.Background(), logger)
	ctx = injection.WithConfig(ctx, &rest.Config{})
	ctx, informers := injection.Fake.SetupInformers(ctx, injection.GetConfig(ctx))
	createObjects(ctx, *targets, *concurrency)

	transport := leadTo(*upstream, pkgnet.NewProxyAutoTransport(maxIdle, maxIdlePerHost))
	throttler := activatornet.NewThrottler(ctx, "127.0.0.1")
	go throttler.Run(ctx, transport, false, netcfg.MeshCompatibilityModeDisabled)
	// The throttler registers its handlers when it runs; what an informer knows then is told to it.
	time.Sleep(100 * time.Millisecond)
	if err := controller.StartInformers(ctx.Done(), informers...); err != nil {
		log.Fatal(err)
	}
	chain := newChain(ctx, throttler, transport, logger)
	awaitTargets(ctx, throttler)
	log.Fatal(pkgnet.NewServer(*listen, chain).ListenAndServe())
}

// Probes of the throttler and requests share the transport, as in stock.
func leadTo(upstream string, inner http.RoundTripper) http.RoundTripper {
	return pkgnet.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		r.URL.Host = upstream
		return inner.RoundTrip(r)
	})
}

// The order and the parts of stock's main function.
func newChain(ctx context.Context, throttler *activatornet.Throttler, transport http.RoundTripper, logger *zap.SugaredLogger) http.Handler {
	mp, err := metrics.NewMeterProvider(ctx, metrics.Config{Protocol: metrics.ProtocolNone})
	if err != nil {
		log.Fatal(err)
	}
	tp, err := tracing.NewTracerProvider(ctx, tracing.Config{Protocol: tracing.ProtocolNone})
	if err != nil {
		log.Fatal(err)
	}
	otel.SetMeterProvider(mp)
	otel.SetTracerProvider(tp)
	otel.SetTextMapPropagator(tracing.DefaultTextMapPropagator())

	configs := activatorconfig.NewStore(logger)
	configs.OnConfigChanged(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: netcfg.ConfigMapName}})

	stats := make(chan []asmetrics.StatMessage)
	go func() {
		for range stats {
		}
	}()
	reporter := activatorhandler.NewConcurrencyReporter(ctx, podName, stats, mp)
	go reporter.Run(ctx.Done())

	ah := activatorhandler.New(ctx, throttler, transport, false, logger, false, tp, mp)
	ah = handler.NewTimeoutHandler(ah, "activator request timeout", limitsOf, logger)
	ah = reporter.Handler(ah)
	ah = activatorhandler.NewTracingAttributeHandler(tp, ah)
	ah, err = pkghttp.NewRequestLogHandler(ah, os.Stdout, "", nil, false)
	if err != nil {
		log.Fatal(err)
	}
	ah = activatorhandler.NewMetricAttributeHandler(podName, ah)
	ah = activatorhandler.WrapActivatorHandlerWithFullDuplex(ah, logger)
	ah = activatorhandler.NewContextHandler(ctx, ah, configs)
	ah = otelhttp.NewHandler(ah, "handle", otelhttp.WithTracerProvider(tp), otelhttp.WithMeterProvider(mp))
	ah = &activatorhandler.ProbeHandler{NextHandler: ah}
	ah = netprobe.NewHandler(ah)
	healthy := func() error { return nil }
	return &activatorhandler.HealthHandler{HealthCheck: healthy, NextHandler: ah, Logger: logger}
}

func limitsOf(r *http.Request) (time.Duration, time.Duration, time.Duration) {
	seconds := int64(timeoutSeconds)
	if rev := activatorhandler.RevisionFrom(r.Context()); rev != nil && rev.Spec.TimeoutSeconds != nil {
		seconds = *rev.Spec.TimeoutSeconds
	}
	return time.Duration(seconds) * time.Second, 0, 0
}

func createObjects(ctx context.Context, targets int, concurrency int64) {
	limit := int64(timeoutSeconds)
	labels := map[string]string{
		serving.RevisionLabelKey: revision,
		serving.RevisionUID:      "3f2c1d9e-8b7a-4c6d-9e0f-000000000000",
	}
	rev := &v1.Revision{
		ObjectMeta: metav1.ObjectMeta{Name: revision, Namespace: namespace, Labels: labels},
		Spec: v1.RevisionSpec{
			ContainerConcurrency: &concurrency,
			TimeoutSeconds:       &limit,
			PodSpec:              corev1.PodSpec{Containers: []corev1.Container{{Name: "user"}}},
		},
	}
	revisions := servingfake.Get(ctx).ServingV1().Revisions(namespace)
	if _, err := revisions.Create(ctx, rev, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	endpoints := kubefake.Get(ctx).CoreV1().Endpoints(namespace)
	if _, err := endpoints.Create(ctx, endpointsOf(targets, labels), metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
}

func endpointsOf(targets int, labels map[string]string) *corev1.Endpoints {
	all := map[string]string{"networking.internal.knative.dev/serviceType": "Private"}
	for key, value := range labels {
		all[key] = value
	}
	result := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Name: revision + "-private", Namespace: namespace, Labels: all},
	}
	for first := 0; first < targets; first += subsetSize {
		subset := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: "http", Port: 8012}}}
		for i := first; i < min(targets, first+subsetSize); i++ {
			ip := fmt.Sprintf("10.%d.%d.%d", i>>16, (i>>8)&255, i&255)
			subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: ip})
		}
		result.Subsets = append(result.Subsets, subset)
	}
	return result
}

// Returns when the throttler hands out targets, so that no measured request waits for the first.
func awaitTargets(ctx context.Context, throttler *activatornet.Throttler) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	id := types.NamespacedName{Namespace: namespace, Name: revision}
	err := throttler.Try(ctx, id, func(dest string, _ bool) error {
		if !strings.HasSuffix(dest, ":8012") {
			return fmt.Errorf("unexpected target %s", dest)
		}
		return nil
	})
	if err != nil {
		log.Fatalf("no target came: %v", err)
	}
}
