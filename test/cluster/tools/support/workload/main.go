// Command workload is the server that the cluster tests put behind stock and ours alike: it starts
// within milliseconds, works as long as it is told, and says on every answer what it saw, so that
// overlaps, doubled requests and the steps of a cold start can be read off from outside.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server counts what runs and remembers which request ids it was given.
type server struct {
	mu          sync.Mutex
	inFlight    int
	most        int
	served      int
	seen        map[string]int
	startedAt   time.Time
	listeningAt time.Time
	pod         string
	version     string
}

func (s *server) enter(id string) (inFlight, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	if id != "" {
		s.seen[id]++
		// The container's log outlives the process: it tells which requests had arrived.
		fmt.Println("got", id)
	}
	return s.inFlight, s.seen[id]
}

func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	s.served++
}

func millis(at time.Time) string {
	return strconv.FormatFloat(float64(at.UnixMicro())/1000, 'f', 3, 64)
}

// work answers after ?ms=N milliseconds; ?chunks=N sends that many lines in between.
func (s *server) work(w http.ResponseWriter, r *http.Request) {
	receivedAt := time.Now()
	event := r.Header.Get("Ce-Id")
	inFlight, times := s.enter(cmp.Or(r.Header.Get("X-Request-Number"), event))
	defer s.leave()
	header := w.Header()
	header.Set("X-Pod", s.pod)
	header.Set("X-Version", s.version)
	header.Set("X-In-Flight", strconv.Itoa(inFlight))
	header.Set("X-Times", strconv.Itoa(times))
	header.Set("X-Started-At", millis(s.startedAt))
	header.Set("X-Listening-At", millis(s.listeningAt))
	header.Set("X-Received-At", millis(receivedAt))
	total, _ := strconv.ParseFloat(r.URL.Query().Get("ms"), 64)
	chunks, _ := strconv.Atoi(r.URL.Query().Get("chunks"))
	part := time.Duration(total * float64(time.Millisecond) / float64(max(1, chunks)))
	for chunk := range max(1, chunks) {
		if !wait(r.Context(), part) {
			return
		}
		if chunks > 0 {
			fmt.Fprintf(w, "line %d\n", chunk)
			_ = http.NewResponseController(w).Flush()
		}
	}
	if event != "" {
		s.answerEvent(w, event, r.Header.Get("Ce-Type"))
		return
	}
	if chunks == 0 {
		fmt.Fprintf(w, "%s %s\n", s.version, s.pod)
	}
}

// answerEvent replies to a CloudEvent with one of its own, and to such a reply with nothing.
func (s *server) answerEvent(w http.ResponseWriter, id, kind string) {
	const answer = ".answer"
	if strings.HasSuffix(kind, answer) {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	header := w.Header()
	header.Set("Ce-Specversion", "1.0")
	header.Set("Ce-Id", "answer-to-"+id)
	header.Set("Ce-Type", kind+answer)
	header.Set("Ce-Source", "/workload")
	header.Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"pod": s.pod})
}

func wait(ctx context.Context, length time.Duration) bool {
	if length <= 0 {
		return true
	}
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// state is what the tests read between their steps.
func (s *server) state(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{
		"pod": s.pod, "inFlight": s.inFlight, "most": s.most, "served": s.served,
	})
}

func main() {
	s := &server{seen: map[string]int{}, startedAt: time.Now(), pod: os.Getenv("HOSTNAME"), version: os.Getenv("VERSION")}
	if delay, err := time.ParseDuration(os.Getenv("START_DELAY")); err == nil {
		time.Sleep(delay)
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	listener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.listeningAt = time.Now()
	mux := http.NewServeMux()
	mux.HandleFunc("/", s.work)
	mux.HandleFunc("/state", s.state)
	web := &http.Server{Handler: mux}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	done := make(chan struct{})
	go func() {
		<-signals
		_ = web.Shutdown(context.Background())
		close(done)
	}()
	if err := web.Serve(listener); err != http.ErrServerClosed {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	<-done
}
