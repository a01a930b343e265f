import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  peerProgress,
  parsePeerDeployments,
  parsePeerJob,
  parsePeerVersions,
  type PeerDeployment,
  type PeerJob,
} from './decide-rollout.ts'

const job: PeerJob = { Version: 3, Stop: false, SubmitTime: 100 }
const older: PeerJob = { ...job, SubmitTime: 50 }
const rolledBack: PeerJob = { Version: 4, Stop: false, SubmitTime: 150 }
const justStarted = 1_000
const longAgo = 60_000
const deployment = (Status: PeerDeployment['Status'], JobVersion = 3, CreateIndex = 10) => {
  return { Status, JobVersion, CreateIndex }
}

const cases: readonly {
  readonly name: string
  readonly job: PeerJob | undefined
  readonly versions?: readonly PeerJob[]
  readonly ageMs: number
  readonly deployments?: readonly PeerDeployment[]
  readonly want: string
}[] = [
  {
    name: 'rolls out',
    job,
    ageMs: justStarted,
    deployments: [deployment('running')],
    want: 'running',
  },
  {
    name: 'is paused',
    job,
    ageMs: justStarted,
    deployments: [deployment('paused')],
    want: 'running',
  },
  {
    name: 'has to wait',
    job,
    ageMs: justStarted,
    deployments: [deployment('pending')],
    want: 'pending',
  },
  {
    name: 'is complete',
    job,
    ageMs: justStarted,
    deployments: [deployment('blocked')],
    want: 'blocked',
  },
  {
    name: 'has failed',
    job,
    ageMs: justStarted,
    deployments: [deployment('failed')],
    want: 'failed',
  },
  {
    name: 'is done',
    job,
    ageMs: justStarted,
    deployments: [deployment('successful')],
    want: 'finished',
  },
  { name: 'rolls nothing out', job, ageMs: justStarted, want: 'finished' },
  {
    name: 'failed with another version',
    job,
    ageMs: justStarted,
    deployments: [deployment('failed', 2)],
    want: 'finished',
  },
  {
    name: 'failed, and rolls back',
    job: rolledBack,
    versions: [rolledBack, job, older],
    ageMs: justStarted,
    deployments: [deployment('running', 4, 11), deployment('failed', 3, 10)],
    want: 'failed',
  },
  {
    name: 'failed, and has rolled back',
    job: rolledBack,
    versions: [rolledBack, job],
    ageMs: longAgo,
    deployments: [deployment('failed', 3, 10), deployment('successful', 4, 11)],
    want: 'failed',
  },
  {
    name: 'failed, rolled back and was stopped',
    job: { ...rolledBack, Stop: true },
    versions: [rolledBack, job],
    ageMs: longAgo,
    deployments: [deployment('failed', 3, 10)],
    want: 'failed',
  },
  {
    name: 'has moved on to another version',
    job: rolledBack,
    versions: [rolledBack, job],
    ageMs: justStarted,
    deployments: [deployment('cancelled', 3, 10), deployment('running', 4, 11)],
    want: 'finished',
  },
  {
    name: 'had two deployments of the version, of which the last counts',
    job,
    ageMs: justStarted,
    deployments: [deployment('running', 3, 12), deployment('failed', 3, 10)],
    want: 'running',
  },
  {
    name: 'is being registered',
    job: older,
    ageMs: justStarted,
    deployments: [deployment('successful')],
    want: 'pending',
  },
  {
    name: 'had it already',
    job: older,
    ageMs: longAgo,
    deployments: [deployment('successful')],
    want: 'finished',
  },
  {
    name: 'failed with something else',
    job: older,
    ageMs: longAgo,
    deployments: [deployment('failed')],
    want: 'finished',
  },
  { name: 'does not have the job yet', job: undefined, ageMs: justStarted, want: 'pending' },
  { name: 'does not have the job any more', job: undefined, ageMs: longAgo, want: 'finished' },
  {
    name: 'has stopped it',
    job: { ...job, Stop: true },
    ageMs: justStarted,
    deployments: [deployment('running')],
    want: 'finished',
  },
]
for (const { name, job: there, versions, ageMs, deployments = [], want } of cases)
  test(`peerProgress: a region that ${name}`, () => {
    const peer = there && { job: there, versions: versions ?? [there], deployments }
    assert.equal(peerProgress({ SubmitTime: 100 }, ageMs, peer), want)
  })

test('peer state: a response of an unknown form is rejected', () => {
  assert.throws(() => parsePeerJob({ Version: 'x' }), { name: 'Fault', kind: 'region-answer' })
  assert.throws(() => parsePeerVersions([job]), { kind: 'region-answer' })
  assert.throws(
    () => parsePeerDeployments([{ Status: 'dancing', JobVersion: 3, CreateIndex: 1 }]),
    {
      kind: 'region-answer',
    },
  )
})
