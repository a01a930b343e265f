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
    limit: int('Limit'),
    grace: duration('Grace'),
    ignore_warnings: bool('IgnoreWarnings'),
  },
})

const CHECK = tableOf(ServiceCheck, {
  attributes: {
    name: text('Name'),
    type: text('Type'),
    command: text('Command'),
    args: texts('Args'),
    path: text('Path'),
    protocol: text('Protocol'),
    port: text('PortLabel'),
    interval: duration('Interval'),
    timeout: duration('Timeout'),
    initial_status: text('InitialStatus'),
    method: text('Method'),
    body: text('Body'),
    header: textsMap('Header'),
    tls_skip_verify: bool('TLSSkipVerify'),
    tls_server_name: text('TLSServerName'),
    address_mode: text('AddressMode'),
    task: text('TaskName'),
    on_update: text('OnUpdate'),
    success_before_passing: int('SuccessBeforePassing'),
    failures_before_critical: int('FailuresBeforeCritical'),
    failures_before_warning: int('FailuresBeforeWarning'),
    grpc_service: text('GRPCService'),
    grpc_use_tls: bool('GRPCUseTLS'),
    expose: bool('Expose'),
    notes: text('Notes'),
  },
  blocks: { check_restart: one('CheckRestart', CHECK_RESTART) },
})

const WEIGHTS = tableOf(ServiceWeights, {
  attributes: { passing: int('Passing'), warning: int('Warning') },
})

export const SERVICE = tableOf(Service, {
  attributes: {
    name: text('Name'),
    provider: text('Provider'),
    port: text('PortLabel'),
    tags: texts('Tags'),
    canary_tags: texts('CanaryTags'),
    address: text('Address'),
    address_mode: text('AddressMode'),
    task: text('TaskName'),
    meta: textMap('Meta'),
    canary_meta: textMap('CanaryMeta'),
    tagged_addresses: textMap('TaggedAddresses'),
    on_update: text('OnUpdate'),
    enable_tag_override: bool('EnableTagOverride'),
    kind: text('Kind'),
    cluster: text('Cluster'),
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

/** The block of a service is merged into each of its checks. */
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
