import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_PERMISSIONS, ALL_PERMISSIONS } from '../session/acl-permissions.ts'
import { deploymentDisabledReason, jobDisabledReason } from './job.ts'

const JOB = {
  Namespace: 'default',
  Stop: false,
  Type: 'service',
  ParameterizedJob: null,
  Dispatched: false,
  Periodic: null,
  ParentID: '',
}
const PARAMETERS = { Payload: 'optional', MetaRequired: null, MetaOptional: null }
const PERIODIC = {
  Enabled: true,
  Spec: '* * * * *',
  Specs: null,
  SpecType: 'cron',
  ProhibitOverlap: false,
  TimeZone: 'UTC',
}

const QUARANTINE = { Reason: '', NodeIDs: [], Time: 0, Version: 0, CreateIndex: 0 }

const CASES = [
  { action: 'stop', job: JOB, reason: undefined },
  { action: 'stop', job: { ...JOB, Stop: true }, reason: 'The job is already stopped.' },
  { action: 'start', job: JOB, reason: 'The job is not stopped.' },
  { action: 'start', job: { ...JOB, Stop: true }, reason: undefined },
  { action: 'scale', job: JOB, reason: undefined },
  {
    action: 'scale',
    job: { ...JOB, Type: 'system' },
    reason: 'A system job runs on every node: it has no count.',
  },
  { action: 'dispatch', job: JOB, reason: 'Only parameterized jobs can be dispatched.' },
  { action: 'dispatch', job: { ...JOB, ParameterizedJob: PARAMETERS }, reason: undefined },
  {
    action: 'dispatch',
    job: { ...JOB, ParameterizedJob: PARAMETERS, Dispatched: true },
    reason: 'Only parameterized jobs can be dispatched.',
  },
  {
    action: 'evaluate',
    job: { ...JOB, ParameterizedJob: PARAMETERS },
    reason: 'Only child jobs of a parameterized job run.',
  },
  {
    action: 'evaluate',
    job: { ...JOB, ParameterizedJob: PARAMETERS, Dispatched: true },
    reason: undefined,
  },
  { action: 'forcePeriodic', job: { ...JOB, Periodic: PERIODIC }, reason: undefined },
  {
    action: 'edit',
    job: { ...JOB, ParentID: 'x' },
    reason: 'This is a child job: edit its parent.',
  },
  { action: 'release', job: JOB, reason: 'The job is not quarantined.' },
  { action: 'release', job: { ...JOB, Quarantine: QUARANTINE }, reason: undefined },
  { action: 'purge', job: { ...JOB, Stop: true }, reason: undefined },
] as const

for (const { action, job, reason } of CASES)
  test(`${action} is ${reason ?? 'offered'}`, () =>
    assert.equal(jobDisabledReason[action](job, ALL_PERMISSIONS), reason))

test('a token without the capability is told which one it lacks', () =>
  assert.equal(
    jobDisabledReason.stop(JOB, NO_PERMISSIONS),
    'Your token lacks namespace:submit-job or namespace:deregister-job in the namespace "default".',
  ))

const GROUP = {
  AutoRevert: false,
  AutoPromote: false,
  ProgressDeadline: 0,
  RequireProgressBy: '',
  Promoted: false,
  PlacedCanaries: null,
  DesiredCanaries: 1,
  DesiredTotal: 3,
  PlacedAllocs: 1,
  HealthyAllocs: 1,
  UnhealthyAllocs: 0,
}
const DEPLOYMENT = {
  ID: 'd',
  Namespace: 'default',
  JobID: 'web',
  JobVersion: 1,
  JobModifyIndex: 1,
  JobSpecModifyIndex: 1,
  JobCreateIndex: 1,
  IsMultiregion: false,
  TaskGroups: { app: GROUP },
  Status: 'running',
  StatusDescription: '',
  EvalPriority: 50,
  CreateIndex: 1,
  ModifyIndex: 1,
  CreateTime: 1,
  ModifyTime: 1,
} as const

const DEPLOYMENTS = [
  { name: 'healthy canaries', deployment: DEPLOYMENT, reason: undefined },
  {
    name: 'canaries that are not healthy yet',
    deployment: { ...DEPLOYMENT, TaskGroups: { app: { ...GROUP, HealthyAllocs: 0 } } },
    reason: 'The canaries are not all healthy yet.',
  },
  {
    name: 'promoted canaries',
    deployment: { ...DEPLOYMENT, TaskGroups: { app: { ...GROUP, Promoted: true } } },
    reason: 'No group has canaries to promote.',
  },
  {
    name: 'an end',
    deployment: { ...DEPLOYMENT, Status: 'failed' },
    reason: 'The deployment has ended: it is failed.',
  },
] as const

for (const { name, deployment, reason } of DEPLOYMENTS)
  test(`a deployment with ${name}: promote is ${reason ?? 'offered'}`, () =>
    assert.equal(deploymentDisabledReason.promote(deployment, ALL_PERMISSIONS), reason))
