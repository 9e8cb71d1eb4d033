# docker build -f images/server.Dockerfile -t sidecar-first/sidecar-first:VERSION .
# Contains the same files as the tarball of scripts/image-server: Node, its libraries, the program and V8's compile cache.
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run build && images/server-root /image

FROM scratch
COPY --from=build /image /
ENV NODE_COMPILE_CACHE=/opt/sidecar-first/compile-cache
USER 65532:65532
ENTRYPOINT ["/usr/bin/node", "/opt/sidecar-first/sidecar-first.mjs"]
