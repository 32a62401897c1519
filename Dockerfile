# The three images of Pilotlight, one target each: activator, queue-proxy, autoscaler (which also
# holds the webhook and the dashboard).
#
#   docker build --target activator -t ghcr.io/pilotlight/activator:0.1.0 .
#
# Behind a registry or an authority of your own, hand over what npm needs; nothing of it stays:
#   docker build --secret id=npmrc,src=$HOME/.npmrc --secret id=ca,src=ca.pem ...

ARG NODE_IMAGE=docker.io/library/node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN --mount=type=secret,id=npmrc,target=/run/npmrc --mount=type=secret,id=ca,target=/run/ca.pem \
    if [ -s /run/ca.pem ]; then export NODE_EXTRA_CA_CERTS=/run/ca.pem; fi; \
    if [ -s /run/npmrc ]; then export NPM_CONFIG_USERCONFIG=/run/npmrc; fi; \
    npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node scripts/build-images.ts /app && \
    node scripts/warm-sidecar.ts --max-semi-space-size=2 /app/queue-proxy

# Started directly, so that signals arrive; nothing is written, so a read-only root will do.
FROM ${NODE_IMAGE} AS runtime
ENV NODE_ENV=production
USER 65532:65532
ENTRYPOINT ["node"]

FROM runtime AS activator
COPY --from=build /app/lua /app/lua
COPY --from=build /app/activator /app/activator
CMD ["/app/activator/main.mjs"]

FROM runtime AS autoscaler
COPY --from=build /app/lua /app/lua
COPY --from=build /app/autoscaler /app/autoscaler
COPY --from=build /app/dashboard /app/dashboard
CMD ["/app/autoscaler/main.mjs"]

FROM runtime AS queue-proxy
COPY --from=build /app/queue-proxy /app/queue-proxy
# The same flags as in local mode: docs/decisions/0009.
CMD ["--max-semi-space-size=2", "/app/queue-proxy/main.cjs"]
