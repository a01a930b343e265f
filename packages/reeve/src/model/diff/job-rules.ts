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
import { byField, objectRule, objectsRule, rulesOf, stringSet } from './rules.ts'

const PERIODIC = rulesOf<PeriodicConfig>({
  Enabled: 'field',
  Spec: 'field',
  Specs: stringSet,
  SpecType: 'field',
  ProhibitOverlap: 'field',
  TimeZone: 'field',
})

const PARAMETERIZED = rulesOf<ParameterizedJobConfig>({
  Payload: 'field',
  MetaRequired: stringSet,
  MetaOptional: stringSet,
})

const REGION = rulesOf<MultiregionRegion>({
  Name: 'field',
  Count: 'field',
  Datacenters: stringSet,
  NodePool: 'field',
  Meta: 'entries',
})

const MULTIREGION = rulesOf<Multiregion>({
  Strategy: objectRule(rulesOf<MultiregionStrategy>({ MaxParallel: 'field', OnFailure: 'field' })),
  Regions: objectsRule('Region', REGION, byField('Name')),
})

const UI = rulesOf<JobUi>({
  Description: 'field',
  Links: objectsRule('Link', rulesOf<JobLink>({ Label: 'field', URL: 'field' }), byField('Label')),
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
  Datacenters: stringSet,
  NodePool: 'field',
  Constraints: constraints,
  Affinities: affinities,
  Spreads: spreads,
  TaskGroups: 'nested',
  Update: 'unseen',
  Multiregion: objectRule(MULTIREGION),
  Periodic: objectRule(PERIODIC),
  ParameterizedJob: objectRule(PARAMETERIZED),
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
  UI: objectRule(UI),
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
