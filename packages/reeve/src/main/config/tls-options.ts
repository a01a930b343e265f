import {
  DEFAULT_CIPHER_SUITES,
  isCipherSuite,
  TLS_VERSIONS,
  type TlsVersion,
} from '../../tls/index.ts'
import type { Secret, TracingConfig } from './agent-config.ts'
import { constant, option } from './option.ts'
import {
  stringAcceptedBy,
  oneOf,
  path,
  bool,
  listOf,
  collectorUrl,
  integer,
  secret,
} from './option-types.ts'

/** Settings of TLS. */
export const tlsOptions = {
  tlsHttp: option({
    kind: bool,
    file: ['tls', 'http'],
    environment: 'REEVE_TLS_HTTP',
    byDefault: constant(false, '`false`'),
    help:
      'Whether the port speaks HTTPS, and servers are dialled with it. APIs, nodes and servers ' +
      'share one port.',
    read: (config) => config.tls.http,
  }),
  tlsRpc: option({
    kind: bool,
    file: ['tls', 'rpc'],
    environment: 'REEVE_TLS_RPC',
    byDefault: constant(false, '`false`'),
    help:
      'Whether servers and nodes have to show each other certificates of `tls.ca_file` that name ' +
      'their role: `server.<region>.reeve` or `client.<region>.reeve`.',
    read: (config) => config.tls.rpc,
  }),
  tlsCaFile: option({
    kind: path,
    file: ['tls', 'ca_file'],
    environment: 'REEVE_TLS_CA_FILE',
    byDefault: constant(undefined, 'none: the authorities that the system knows'),
    help: 'The authorities that are believed, in PEM form.',
    read: (config) => config.tls.caFile,
  }),
  tlsCertFile: option({
    kind: path,
    file: ['tls', 'cert_file'],
    environment: 'REEVE_TLS_CERT_FILE',
    byDefault: constant(undefined, 'none'),
    help: 'The certificate of this agent, with those in between, in PEM form. Read again at SIGHUP.',
    read: (config) => config.tls.certFile,
  }),
  tlsKeyFile: option({
    kind: path,
    file: ['tls', 'key_file'],
    environment: 'REEVE_TLS_KEY_FILE',
    byDefault: constant(undefined, 'none'),
    help: 'The key of that certificate, in PEM form.',
    read: (config) => config.tls.keyFile,
  }),
  tlsVerifyServerHostname: option({
    kind: bool,
    file: ['tls', 'verify_server_hostname'],
    environment: 'REEVE_TLS_VERIFY_SERVER_HOSTNAME',
    byDefault: constant(true, '`true`'),
    help:
      'Whether a server that is dialled has to be named `server.<region>.reeve` by its certificate, ' +
      'or, without `tls.rpc`, by the address that was dialled.',
    read: (config) => config.tls.verifyServerHostname,
  }),
  tlsVerifyHttpsClient: option({
    kind: bool,
    file: ['tls', 'verify_https_client'],
    environment: 'REEVE_TLS_VERIFY_HTTPS_CLIENT',
    byDefault: constant(false, '`false`'),
    help: 'Whether every caller of the APIs needs a certificate of `tls.ca_file`, browsers included.',
    read: (config) => config.tls.verifyHttpsClient,
  }),
  tlsMinVersion: option({
    kind: oneOf(TLS_VERSIONS),
    file: ['tls', 'min_version'],
    environment: 'REEVE_TLS_MIN_VERSION',
    byDefault: constant<TlsVersion>('tls12', '`tls12`'),
    help: 'The oldest version of TLS that is spoken, as a server and as a client.',
    read: (config) => config.tls.minVersion,
  }),
  tlsCipherSuites: option({
    kind: listOf(stringAcceptedBy('a cipher suite, as `openssl ciphers` names it', isCipherSuite)),
    file: ['tls', 'cipher_suites'],
    environment: 'REEVE_TLS_CIPHER_SUITES',
    byDefault: constant(DEFAULT_CIPHER_SUITES, 'those of TLS 1.3, and ECDHE with GCM or ChaCha20'),
    help:
      'The cipher suites that are accepted and offered, the preferred first. Without a name that ' +
      'begins with `TLS_` there is no TLS 1.3, without another one no TLS 1.2.',
    read: (config) => config.tls.cipherSuites,
  }),
}

/** Settings of tracing. See docs/how-to/monitor.md. */
export const tracingOptions = {
  tracingEndpoint: option({
    kind: collectorUrl,
    file: ['tracing', 'endpoint'],
    environment: 'REEVE_TRACING_ENDPOINT',
    byDefault: constant(undefined, 'none: nothing is traced'),
    help:
      'The collector that traces are sent to (OTLP over HTTP, JSON). Without a path, ' +
      '`/v1/traces` is added.',
    read: (config) => config.tracing.endpoint,
  }),
  tracingSamplePercent: option({
    kind: integer({ min: 0, max: 100 }),
    file: ['tracing', 'sample_percent'],
    environment: 'REEVE_TRACING_SAMPLE_PERCENT',
    byDefault: constant(100, '`100`'),
    help:
      'Percentage of requests without a `traceparent` header that are traced. Requests with one ' +
      'follow the sampled flag of their client.',
    read: (config) => config.tracing.samplePercent,
  }),
  tracingAuthorization: option({
    kind: secret,
    file: ['tracing', 'authorization'],
    environment: 'REEVE_TRACING_AUTHORIZATION',
    byDefault: constant(undefined, 'none'),
    help: 'The header `Authorization` for the collector, such as `Bearer …`.',
    read: (config) => config.tracing.authorization,
  }),
}

interface TracingSettings {
  readonly tracingEndpoint: string | undefined
  readonly tracingSamplePercent: number
  readonly tracingAuthorization: Secret | undefined
}

export function tracingConfig(settings: TracingSettings): TracingConfig {
  return {
    endpoint: settings.tracingEndpoint,
    samplePercent: settings.tracingSamplePercent,
    authorization: settings.tracingAuthorization,
  }
}
