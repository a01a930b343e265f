import { CheckRestart, Service, ServiceCheck, ServiceWeights } from '@reeve/contract'
import { amend, take, type Draft } from '../build/draft.ts'
import { isRecord, recordsOf, type JsonRecord } from '../json.ts'
import { IDENTITY } from './identity.ts'
import {
  bool,
  duration,
  free,
  int,
  many,
  one,
  tableOf,
  text,
  textMap,
  texts,
  textsMap,
} from './table.ts'

const CHECK_RESTART = tableOf(CheckRestart, {
  attributes: {
    limit: int('Limit', 'Failures in a row after which the task is restarted; 0 never restarts.'),
    grace: duration('Grace', 'Time after the start of the task in which failures are not counted.'),
    ignore_warnings: bool('IgnoreWarnings', 'Does not count warnings as failures.'),
  },
})

const CHECK = tableOf(ServiceCheck, {
  attributes: {
    name: text('Name', 'Name of the check.'),
    type: text('Type', 'Required. `http`, `tcp`, `grpc` or `script`.'),
    command: text(
      'Command',
      'Program that a `script` check runs inside the task. Required for scripts.',
    ),
    args: texts('Args', 'Arguments of the program.'),
    path: text('Path', 'Path and query that an `http` check requests. Required for `http`.'),
    protocol: text('Protocol', '`http` or `https`.'),
    port: text('PortLabel', 'Label of a port. Defaults to that of the service.'),
    interval: duration('Interval', 'Required. Time between two checks, at least 1 s.'),
    timeout: duration('Timeout', 'Required. Time after which a check fails, at least 1 s.'),
    initial_status: text(
      'InitialStatus',
      'Status before the first result: `passing`, `warning` or `critical`.',
    ),
    method: text('Method', 'HTTP method.'),
    body: text('Body', 'Body of the HTTP request.'),
    header: textsMap('Header', 'HTTP headers, each with a list of values.'),
    tls_skip_verify: bool('TLSSkipVerify', 'Skips TLS verification.'),
    tls_server_name: text('TLSServerName', 'Server name for TLS.'),
    address_mode: text(
      'AddressMode',
      'Address to check: `host`, `driver` or `alloc`. Defaults to that of the service.',
    ),
    task: text('TaskName', 'Task in which a `script` of a group service runs.'),
    on_update: text(
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
    grpc_service: text('GRPCService', 'Service name in the gRPC health request.'),
    grpc_use_tls: bool('GRPCUseTLS', 'Uses TLS for gRPC.'),
    expose: bool('Expose', 'Rejected: there is no service mesh.'),
    notes: text('Notes', 'Free text, kept and shown.'),
  },
  blocks: { check_restart: one('CheckRestart', CHECK_RESTART) },
})

const WEIGHTS = tableOf(ServiceWeights, {
  attributes: {
    passing: int('Passing', 'Weight while checks pass.'),
    warning: int('Warning', 'Weight while a check warns.'),
  },
})

export const SERVICE = tableOf(Service, {
  attributes: {
    name: text(
      'Name',
      'Name in the catalogue, at most 63 letters, digits and dashes. May contain `${JOB}`, ' +
        '`${TASKGROUP}`, `${TASK}` and `${BASE}`. Defaults to `<job>-<group>` or ' +
        '`<job>-<group>-<task>`.',
    ),
    provider: text('Provider', 'Catalogue. Only the built-in one, `service`, is supported.'),
    port: text(
      'PortLabel',
      'Label of a port of the group, or a number together with `address` or an address mode ' +
        'other than `host`.',
    ),
    tags: texts('Tags', 'Tags of the instance.'),
    canary_tags: texts('CanaryTags', 'Tags while the allocation is an unpromoted canary.'),
    address: text('Address', 'Address to register instead of that of the node.'),
    address_mode: text(
      'AddressMode',
      '`auto`, `host`, `driver` (services of tasks), `alloc` or `alloc_ipv6` (services of groups).',
    ),
    task: text('TaskName', 'Task that a service of a group belongs to.'),
    meta: textMap('Meta', 'Key-value pairs of the instance.'),
    canary_meta: textMap(
      'CanaryMeta',
      'Key-value pairs while the allocation is an unpromoted canary.',
    ),
    tagged_addresses: textMap('TaggedAddresses', 'No effect in the built-in catalogue.'),
    on_update: text('OnUpdate', 'Default of `on_update` for the checks of the service.'),
    enable_tag_override: bool('EnableTagOverride', 'No effect in the built-in catalogue.'),
    kind: text('Kind', 'Free text, kept and shown.'),
    cluster: text('Cluster', 'Rejected: there is one built-in catalogue.'),
  },
  blocks: {
    check: many('Checks', CHECK),
    check_restart: one('@check_restart', CHECK_RESTART),
    weights: one('Weights', WEIGHTS),
    identity: one('Identity', IDENTITY),
    connect: free('Connect'),
  },
  finish: shareCheckRestart,
})

/** Merges the `check_restart` of a service into each of its checks. */
function shareCheckRestart(draft: Draft): void {
  const shared = take(draft, '@check_restart')
  if (!isRecord(shared) || !draft.values.has('Checks')) return
  const { places } = draft.building
  const checks = recordsOf(draft.values.get('Checks')).map((check) => {
    const own = check['CheckRestart']
    const merged = isRecord(own) ? overlay(own, shared) : shared
    return amend(check, { CheckRestart: merged }, places)
  })
  draft.values.set('Checks', checks)
}

function overlay(record: JsonRecord, base: JsonRecord): JsonRecord {
  const entries = Object.entries(record).map(([name, own]) => [name, own ?? base[name] ?? null])
  return Object.fromEntries(entries)
}
