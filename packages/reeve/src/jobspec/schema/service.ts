import {
  CheckRestart,
  CniConfig,
  DiscoveryBlock,
  DnsConfig,
  NetworkResource,
  Port,
  SecretStoreBlock,
  Service,
  ServiceCheck,
  ServiceWeights,
  TaskSecret,
  WorkloadIdentity,
} from '@reeve/contract'
import {
  copyWith,
  takePseudoField,
  type RecordBuilder,
  setDefault,
} from '../build/record-builder.ts'
import { isRecord, toRecords, type JsonRecord } from '../source.ts'
import {
  bool,
  duration,
  opaque,
  int,
  many,
  one,
  mapBlock,
  string,
  stringMap,
  stringList,
  stringListMap,
} from './block-mapping.ts'

const CHECK_RESTART = mapBlock(CheckRestart, {
  attributes: {
    limit: int('Limit', 'Failures in a row after which the task is restarted; 0 never restarts.'),
    grace: duration('Grace', 'Time after the start of the task in which failures are not counted.'),
    ignore_warnings: bool('IgnoreWarnings', 'Does not count warnings as failures.'),
  },
})

const CHECK = mapBlock(ServiceCheck, {
  attributes: {
    name: string('Name', 'Name of the check.'),
    type: string('Type', 'Required. `http`, `tcp`, `grpc` or `script`.'),
    command: string(
      'Command',
      'Program that a `script` check runs inside the task. Required for scripts.',
    ),
    args: stringList('Args', 'Arguments of the program.'),
    path: string('Path', 'Path and query that an `http` check requests. Required for `http`.'),
    protocol: string('Protocol', '`http` or `https`.'),
    port: string('PortLabel', 'Label of a port. Defaults to that of the service.'),
    interval: duration('Interval', 'Required. Time between two checks, at least 1 s.'),
    timeout: duration('Timeout', 'Required. Time after which a check fails, at least 1 s.'),
    initial_status: string(
      'InitialStatus',
      'Status before the first result: `passing`, `warning` or `critical`.',
    ),
    method: string('Method', 'HTTP method.'),
    body: string('Body', 'Body of the HTTP request.'),
    header: stringListMap('Header', 'HTTP headers, each with a list of values.'),
    tls_skip_verify: bool('TLSSkipVerify', 'Skips TLS verification.'),
    tls_server_name: string('TLSServerName', 'Server name for TLS.'),
    address_mode: string(
      'AddressMode',
      'Address to check: `host`, `driver` or `alloc`. Defaults to that of the service.',
    ),
    task: string('TaskName', 'Task in which a `script` of a group service runs.'),
    on_update: string(
      'OnUpdate',
      'How deployments use the check: `require_healthy`, `ignore_warnings` or `ignore`.',
    ),
    success_before_passing: int(
      'SuccessBeforePassing',
      'Successes in a row before the status becomes passing; 0 and 1 are the same.',
    ),
    failures_before_critical: int(
      'FailuresBeforeCritical',
      'Failures in a row before the status becomes critical; 0 and 1 are the same.',
    ),
    failures_before_warning: int(
      'FailuresBeforeWarning',
      'Rejected: use `failures_before_critical`.',
    ),
    grpc_service: string('GRPCService', 'Service name in the gRPC health request.'),
    grpc_use_tls: bool('GRPCUseTLS', 'Uses TLS for gRPC.'),
    expose: bool('Expose', 'Rejected: there is no service mesh.'),
    notes: string('Notes', 'Free text, kept and shown.'),
  },
  blocks: { check_restart: one('CheckRestart', CHECK_RESTART) },
})

const WEIGHTS = mapBlock(ServiceWeights, {
  attributes: {
    passing: int('Passing', 'Weight while checks pass.'),
    warning: int('Warning', 'Weight while a check warns.'),
  },
})

export const IDENTITY = mapBlock(WorkloadIdentity, {
  attributes: {
    name: string('Name', 'Name of the identity.'),
    aud: stringList('Audience', 'Audience of the token.'),
    env: bool('Env', 'Exposes the token as an environment variable.'),
    file: bool('File', 'Writes the token into the secrets directory.'),
    filepath: string('Filepath', 'Path of that file.'),
    change_mode: string('ChangeMode', 'Action when the token is renewed.'),
    change_signal: string('ChangeSignal', 'Signal of a renewal.'),
    ttl: duration('TTL', 'Lifetime of the token.'),
    service_name: string('ServiceName', 'Service that the identity belongs to.'),
  },
})

export const SERVICE = mapBlock(Service, {
  attributes: {
    name: string(
      'Name',
      'Name in the catalogue, at most 63 letters, digits and dashes. May contain `${JOB}`, ' +
        '`${TASKGROUP}`, `${TASK}` and `${BASE}`. Defaults to `<job>-<group>` or ' +
        '`<job>-<group>-<task>`.',
    ),
    provider: string('Provider', 'Catalogue. Only the built-in one, `service`, is supported.'),
    port: string(
      'PortLabel',
      'Label of a port of the group, or a number together with `address` or an address mode ' +
        'other than `host`.',
    ),
    tags: stringList('Tags', 'Tags of the instance.'),
    canary_tags: stringList('CanaryTags', 'Tags while the allocation is an unpromoted canary.'),
    address: string('Address', 'Address to register instead of that of the node.'),
    address_mode: string(
      'AddressMode',
      '`auto`, `host`, `driver` (services of tasks), `alloc` or `alloc_ipv6` (services of groups).',
    ),
    task: string('TaskName', 'Task that a service of a group belongs to.'),
    meta: stringMap('Meta', 'Key-value pairs of the instance.'),
    canary_meta: stringMap(
      'CanaryMeta',
      'Key-value pairs while the allocation is an unpromoted canary.',
    ),
    tagged_addresses: stringMap('TaggedAddresses', 'No effect in the built-in catalogue.'),
    on_update: string('OnUpdate', 'Default of `on_update` for the checks of the service.'),
    enable_tag_override: bool('EnableTagOverride', 'No effect in the built-in catalogue.'),
    kind: string('Kind', 'Free text, kept and shown.'),
    cluster: string('Cluster', 'Rejected: there is one built-in catalogue.'),
  },
  blocks: {
    check: many('Checks', CHECK),
    check_restart: one('@check_restart', CHECK_RESTART),
    weights: one('Weights', WEIGHTS),
    identity: one('Identity', IDENTITY),
    connect: opaque('Connect'),
  },
  finish: inheritCheckRestart,
})

/** Merges the `check_restart` of a service into each of its checks. */
function inheritCheckRestart(draft: RecordBuilder): void {
  const shared = takePseudoField(draft, '@check_restart')
  if (!isRecord(shared) || !draft.values.has('Checks')) return
  const { places } = draft.building
  const checks = toRecords(draft.values.get('Checks')).map((check) => {
    const own = check['CheckRestart']
    const merged = isRecord(own) ? overlay(own, shared) : shared
    return copyWith(check, { CheckRestart: merged }, places)
  })
  draft.values.set('Checks', checks)
}

function overlay(record: JsonRecord, base: JsonRecord): JsonRecord {
  const entries = Object.entries(record).map(([name, own]) => [name, own ?? base[name] ?? null])
  return Object.fromEntries(entries)
}

const PORT = mapBlock(Port, {
  label: 'Label',
  attributes: {
    static: int(
      'Value',
      'Port of the node to reserve, up to 65535. Without it the scheduler picks a free one from ' +
        "the node's range of dynamic ports.",
    ),
    to: int(
      'To',
      'Port inside the network of the group that the port is mapped to; -1 maps to the same ' +
        'number.',
    ),
    host_network: string('HostNetwork', 'Host network of the node whose address is used.'),
    ignore_collision: bool(
      'IgnoreCollision',
      'Allows several allocations on a node to have this static port. Only in host mode.',
    ),
  },
})

const DNS = mapBlock(DnsConfig, {
  attributes: {
    servers: stringList('Servers', 'Name servers.'),
    searches: stringList('Searches', 'Search domains.'),
    options: stringList('Options', 'Options of `resolv.conf`.'),
  },
})

const CNI = mapBlock(CniConfig, {
  attributes: {
    args: stringMap(
      'Args',
      'Arguments for the CNI plugins. Only with `mode = "cni/<name>"`; no semicolons.',
    ),
  },
})

export const NETWORK = mapBlock(NetworkResource, {
  attributes: {
    mode: string(
      'Mode',
      '`host` shares the network of the node, `bridge` gives the group a network namespace ' +
        'behind a bridge, `none` one without interfaces, `cni/<name>` one that CNI plugins set ' +
        'up.',
    ),
    hostname: string('Hostname', 'Host name inside the network namespace. Not in host mode.'),
    mbits: int('MBits', 'Deprecated, ignored.'),
    device: string('Device', 'No effect: choose the address with `host_network` of a port.'),
    cidr: string('CIDR', 'No effect: choose the address with `host_network` of a port.'),
    ip: string('IP', 'No effect: choose the address with `host_network` of a port.'),
  },
  blocks: {
    dns: one('DNS', DNS),
    cni: one('CNI', CNI),
    port: many('@ports', PORT),
  },
  finish: splitPorts,
})

/**
 * Splits ports into reserved ones (with `static`) and dynamic ones. Port 0 cannot be reserved, so
 * it counts as dynamic.
 */
function splitPorts(draft: RecordBuilder): void {
  const ports = toRecords(takePseudoField(draft, '@ports'))
  const isReserved = (value: unknown) => value !== null && value !== 0
  const reserved = ports.filter((port) => isReserved(port['Value']))
  const dynamic = ports.filter((port) => !isReserved(port['Value']))
  if (reserved.length > 0) draft.values.set('ReservedPorts', reserved)
  if (dynamic.length > 0) draft.values.set('DynamicPorts', dynamic)
}

export const DISCOVERY = mapBlock(DiscoveryBlock, {
  attributes: {
    namespace: string('Namespace', 'Namespace in the external catalogue.'),
    cluster: string('Cluster', 'Name of the external catalogue.'),
    partition: string('Partition', 'Partition in the external catalogue.'),
  },
})

export const SECRET_STORE = mapBlock(SecretStoreBlock, {
  attributes: {
    policies: stringList('Policies', 'Policies of the token.'),
    role: string('Role', 'Role of the token.'),
    namespace: string('Namespace', 'Namespace in the secret store.'),
    cluster: string('Cluster', 'Name of the secret store.'),
    env: bool('Env', 'Exposes the token as an environment variable.'),
    disable_file: bool('DisableFile', 'Keeps the token out of the secrets directory.'),
    change_mode: string('ChangeMode', 'Action when a new token is written.'),
    change_signal: string('ChangeSignal', 'Signal of a new token.'),
    allow_token_expiration: bool('AllowTokenExpiration', 'Does not renew the token.'),
  },
  finish: fillSecretStore,
})

function fillSecretStore(draft: RecordBuilder): void {
  setDefault(draft, 'Env', true)
  setDefault(draft, 'DisableFile', false)
  setDefault(draft, 'ChangeMode', 'restart')
}

export const SECRET = mapBlock(TaskSecret, {
  label: 'Name',
  attributes: {
    provider: string('Provider', 'Provider of the secret.'),
    path: string('Path', 'Path of the secret.'),
    env: stringMap('Env', 'Environment of the provider.'),
  },
  blocks: { config: opaque('Config') },
})
