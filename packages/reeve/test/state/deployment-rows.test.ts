import assert from 'node:assert/strict'
import test from 'node:test'
import type { Deployment } from '@reeve/contract'
import { newDeployment, newGroupState, withGroupStates } from '../../src/model/index.ts'
import {
  jobVersionKey,
  namespacedKey,
  put,
  withDerivedRows,
  type Change,
} from '../../src/state/index.ts'
import { aJob, anAllocation, anId } from '../build/index.ts'
import { aStore } from '../build/store.ts'

const job = { ...aJob(), Status: 'running' as const }
const update = job.TaskGroups[0]?.Update ?? assert.fail()

async function aRollout() {
  const { store } = await aStore()
  const write = (...changes: readonly Change[]) =>
    store.commit({
      by: 'system',
      cause: 'PlanResult',
      changes: () => withDerivedRows(store.tables, changes),
    })
  write(put('jobs', job), put('job_versions', job))
  const stored = store.tables.jobs.get(namespacedKey('default', 'web'))
  // A version keeps what its job was when it was registered.
  write(put('job_versions', stored))
  const empty = newDeployment(stored, { id: anId('any', 1), timeMs: 0, priority: 50 })
  const deployment = withGroupStates(empty, new Map([['app', newGroupState(update)]]))
  const row = anAllocation({ job, ID: anId('alloc', 1), DeploymentID: deployment.ID })
  const read = () => ({
    job: store.tables.jobs.get(namespacedKey('default', 'web')),
    version: store.tables.job_versions.get(jobVersionKey('default', 'web', 0)),
    deployment: store.tables.deployments.find(deployment.ID),
  })
  return { store, write, deployment, row, read }
}

function ended(deployment: Deployment | undefined, Status: 'successful' | 'failed'): Deployment {
  return { ...(deployment ?? assert.fail()), Status }
}

test('deployment rows: an allocation and the counters of its deployment are one commit', async () => {
  const { write, deployment, row, read } = await aRollout()
  write(put('deployments', deployment), put('allocations', row))
  assert.equal(read().deployment?.TaskGroups['app']?.PlacedAllocs, 1)
  const healthy = {
    Healthy: true,
    Timestamp: '2024-01-01T00:00:00Z',
    Canary: false,
    ModifyIndex: 0,
  }
  const { index } = write(put('allocations', { ...row, DeploymentStatus: healthy }))
  assert.equal(read().deployment?.TaskGroups['app']?.HealthyAllocs, 1)
  assert.equal(read().deployment?.ModifyIndex, index)
})

test('deployment rows: what moves no counter leaves the deployment alone', async () => {
  const { write, deployment, row, read } = await aRollout()
  const { index } = write(put('deployments', deployment), put('allocations', row))
  write(put('allocations', { ...row, ClientStatus: 'pending' }))
  assert.equal(read().deployment?.ModifyIndex, index)
})

test('deployment rows: a job is running while a deployment of it is active', async () => {
  const { write, deployment, read } = await aRollout()
  write(put('deployments', deployment))
  assert.equal(read().job.Status, 'running')
  write(put('deployments', ended(read().deployment, 'failed')))
  assert.notEqual(read().job.Status, 'running')
})

test('deployment rows: success makes the job and its version stable, failure does not', async () => {
  for (const Status of ['successful', 'failed'] as const) {
    const { write, deployment, read } = await aRollout()
    write(put('deployments', deployment))
    const before = read().job.JobModifyIndex
    write(put('deployments', ended(read().deployment, Status)))
    const after = read()
    const isStable = Status === 'successful'
    assert.deepEqual([after.job.Stable, after.version.Stable], [isStable, isStable], Status)
    assert.equal(after.job.JobModifyIndex, before, 'nobody asked for something else')
  }
})

test('deployment rows: success of an older version says nothing about the current one', async () => {
  const { write, deployment, read } = await aRollout()
  write(put('deployments', deployment))
  const next = { ...read().job, Version: 1 }
  write(put('jobs', next), put('job_versions', next))
  write(put('deployments', ended(read().deployment, 'successful')))
  assert.deepEqual([read().job.Stable, read().version.Stable], [false, true])
})
