"""What Prometheus reads."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from maskline.serving.refusals import ClientLeftError

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
TOKENS = (16, 64, 256, 512, 1024, 2048, 4096, 8192)


class Metrics:
    """Counts of one server."""

    def __init__(self, waiting: Callable[[], int]) -> None:
        """Take what tells how many tokens are waiting."""
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._requests = Counter(
            "maskline_requests", "Requests by path and status.", ["path", "status"], registry=registry
        )
        self._seconds = Histogram(
            "maskline_request_seconds", "Time to the answer.", ["path"], buckets=SECONDS, registry=registry
        )
        self._inputs = Counter("maskline_inputs", "Inputs that the model read.", registry=registry)
        self._tokens = Counter("maskline_tokens", "Tokens that the model read.", registry=registry)
        self._batches = Histogram("maskline_batch_tokens", "Tokens of a batch.", buckets=TOKENS, registry=registry)
        self._computing = Counter("maskline_computing_seconds", "Time that the model worked.", registry=registry)
        Gauge("maskline_waiting_tokens", "Tokens that wait.", registry=registry).set_function(waiting)

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count a request; of status 0, the client left before the answer."""
        self._requests.labels(path, str(status or ClientLeftError.status)).inc()
        self._seconds.labels(path).observe(seconds)

    def computed(self, inputs: int, tokens: int, seconds: float) -> None:
        """Count a batch."""
        self._inputs.inc(inputs)
        self._tokens.inc(tokens)
        self._batches.observe(tokens)
        self._computing.inc(seconds)

    def text(self) -> bytes:
        """Return all counts as Prometheus reads them."""
        return generate_latest(self._registry)
