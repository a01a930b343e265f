import type {
  Job,
  JobLink,
  JobUi,
  Multiregion,
  MultiregionRegion,
  MultiregionStrategy,
  ParameterizedJobConfig,
  PeriodicConfig,
} from '@reeve/contract'
import { affinities, constraints, spreads } from './placement-rules.ts'
import { by, object, objects, rulesOf, set } from './rules.ts'

const PERIODIC = rulesOf<PeriodicConfig>({
  Enabled: 'field',
  Spec: 'field',
  Specs: set,
  SpecType: 'field',
  ProhibitOverlap: 'field',
  TimeZone: 'field',
})

const PARAMETERIZED = rulesOf<ParameterizedJobConfig>({
  Payload: 'field',
  MetaRequired: set,
  MetaOptional: set,
})

const REGION = rulesOf<MultiregionRegion>({
  Name: 'field',
  Count: 'field',
  Datacenters: set,
  NodePool: 'field',
  Meta: 'entries',
})

const MULTIREGION = rulesOf<Multiregion>({
  Strategy: object(rulesOf<MultiregionStrategy>({ MaxParallel: 'field', OnFailure: 'field' })),
  Regions: objects('Region', REGION, by('Name')),
})

const UI = rulesOf<JobUi>({
  Description: 'field',
  Links: objects('Link', rulesOf<JobLink>({ Label: 'field', URL: 'field' }), by('Label')),
})

/**
 * Rules of a job. Fields set by servers are not compared; `Update`, `Migrate` and `Reschedule` are
 * compared in the groups, where they apply; tokens are never stored.
 */
export const JOB = rulesOf<Job>({
  Region: 'field',
  Namespace: 'field',
  ID: 'unseen',
  ParentID: 'field',
  Name: 'field',
  Type: 'field',
  Priority: 'field',
  AllAtOnce: 'field',
  Datacenters: set,
  NodePool: 'field',
  Constraints: constraints,
  Affinities: affinities,
  Spreads: spreads,
  TaskGroups: 'nested',
  Update: 'unseen',
  Multiregion: object(MULTIREGION),
  Periodic: object(PERIODIC),
  ParameterizedJob: object(PARAMETERIZED),
  Dispatched: 'field',
  DispatchIdempotencyToken: 'field',
  Payload: 'field',
  Meta: 'entries',
  Migrate: 'unseen',
  Reschedule: 'unseen',
  DiscoveryToken: 'unseen',
  DiscoveryNamespace: 'field',
  SecretStoreToken: 'unseen',
  SecretStoreNamespace: 'field',
  ServiceTokenID: 'unseen',
  Stop: 'field',
  Status: 'unseen',
  StatusDescription: 'unseen',
  Stable: 'unseen',
  Version: 'unseen',
  VersionTag: 'unseen',
  UI: object(UI),
  SubmitTime: 'unseen',
  CreateIndex: 'unseen',
  ModifyIndex: 'unseen',
  JobModifyIndex: 'unseen',
  Quarantine: 'unseen',
  NodeLosses: 'unseen',
  SubmittedBy: 'unseen',
  Origin: 'unseen',
  Message: 'unseen',
})
