import assert from 'node:assert/strict'
import type { ClientStatus, TaskGroupSummary } from '@reeve/contract'
import { test } from 'node:test'
import { healthOf } from './allocation-counts.ts'

function allocations(...statuses: readonly ClientStatus[]) {
  return statuses.map((ClientStatus, index) => ({
    ID: String(index),
    Group: 'app',
    ClientStatus,
    NodeID: '',
    DeploymentStatus: { Canary: false, Healthy: null },
    JobVersion: 0,
    FollowupEvalID: '',
  }))
}

function aSummary(counts: Partial<TaskGroupSummary>): TaskGroupSummary {
  const none = { Queued: 0, Complete: 0, Failed: 0, Running: 0, Starting: 0, Lost: 0, Unknown: 0 }
  return { ...none, ...counts }
}

const JOB = {
  Stop: false,
  Status: 'running',
  Type: 'service',
  GroupCountSum: 2,
  Allocs: allocations('running', 'running'),
  ChildStatuses: null,
} as const

const CASES = [
  { name: 'all run', job: JOB, health: 'running' },
  { name: 'one is missing', job: { ...JOB, Allocs: allocations('running') }, health: 'degraded' },
  {
    name: 'one failed',
    job: { ...JOB, Allocs: allocations('running', 'failed') },
    health: 'degraded',
  },
  { name: 'nothing is placed', job: { ...JOB, Allocs: [] }, health: 'degraded' },
  { name: 'it is stopped', job: { ...JOB, Stop: true }, health: 'stopped' },
  {
    name: 'one is missing by the counts alone',
    job: { ...JOB, Allocs: [], AllocCounts: aSummary({ Running: 1 }) },
    health: 'degraded',
  },
  {
    name: 'all run by the counts alone',
    job: { ...JOB, Allocs: [], AllocCounts: aSummary({ Running: 2, Complete: 7 }) },
    health: 'running',
  },
  {
    name: 'a batch job has ended in part',
    job: { ...JOB, Type: 'batch', Allocs: [] },
    health: 'running',
  },
  {
    name: 'a parent has instances',
    job: { ...JOB, ChildStatuses: ['running'] as const },
    health: 'running',
  },
  { name: 'all is over', job: { ...JOB, Status: 'dead', Allocs: [] } as const, health: 'dead' },
  {
    name: 'the end was a failure',
    job: { ...JOB, Status: 'dead', Allocs: allocations('failed') } as const,
    health: 'failed',
  },
]

for (const { name, job, health } of CASES)
  test(`a job of which ${name} is ${health}`, () => assert.equal(healthOf(job), health))
