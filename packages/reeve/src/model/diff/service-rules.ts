import type {
  CheckRestart,
  Service,
  ServiceCheck,
  ServiceWeights,
  WorkloadIdentity,
} from '@reeve/contract'
import { by, list, object, objects, rulesOf, set, tree } from './rules.ts'

export const IDENTITY = rulesOf<WorkloadIdentity>({
  Name: 'field',
  Audience: set,
  ChangeMode: 'field',
  ChangeSignal: 'field',
  Env: 'field',
  File: 'field',
  Filepath: 'field',
  ServiceName: 'field',
  TTL: 'field',
})

const CHECK = rulesOf<ServiceCheck>({
  Name: 'field',
  Type: 'field',
  Command: 'field',
  Args: list,
  Path: 'field',
  Protocol: 'field',
  PortLabel: 'field',
  Expose: 'field',
  AddressMode: 'field',
  Interval: 'field',
  Timeout: 'field',
  InitialStatus: 'field',
  Method: 'field',
  Header: tree,
  Body: 'field',
  TLSServerName: 'field',
  TLSSkipVerify: 'field',
  CheckRestart: object(
    rulesOf<CheckRestart>({ Limit: 'field', Grace: 'field', IgnoreWarnings: 'field' }),
  ),
  GRPCService: 'field',
  GRPCUseTLS: 'field',
  TaskName: 'field',
  SuccessBeforePassing: 'field',
  FailuresBeforeCritical: 'field',
  FailuresBeforeWarning: 'field',
  Notes: 'field',
  OnUpdate: 'field',
})

const SERVICE = rulesOf<Service>({
  Name: 'field',
  TaskName: 'field',
  PortLabel: 'field',
  AddressMode: 'field',
  Address: 'field',
  Tags: set,
  CanaryTags: set,
  EnableTagOverride: 'field',
  CheckRestart: 'unseen',
  Checks: objects('Check', CHECK, by('Name')),
  Meta: 'entries',
  CanaryMeta: 'entries',
  TaggedAddresses: 'entries',
  Namespace: 'field',
  OnUpdate: 'field',
  Provider: 'field',
  Cluster: 'field',
  Connect: tree,
  Weights: object(rulesOf<ServiceWeights>({ Passing: 'field', Warning: 'field' })),
  Identity: object(IDENTITY),
  Kind: 'field',
})

export const services = objects('Service', SERVICE, by('Name'))
