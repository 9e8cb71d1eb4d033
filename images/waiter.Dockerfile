# docker build -f images/waiter.Dockerfile -t sidecar-first/waiter:VERSION .
# Contains the same files as the tarball of scripts/image-waiter.
FROM --platform=$BUILDPLATFORM golang:1.26.8 AS build
ARG TARGETARCH
WORKDIR /src
COPY package.json .
COPY waiter waiter
RUN waiter/build /out && mv /out/linux-$TARGETARCH/wait /wait

FROM scratch
COPY --from=build /wait /wait
COPY LICENSE THIRD-PARTY-NOTICES /
USER 65532
ENTRYPOINT ["/wait"]
