import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunPhaseRow } from '../model/index.ts'
import { EXECUTION_DEFAULTS, phaseJob } from './phase-job.ts'

const PHASE: RunPhaseRow = {
  id: 'run-1-apply',
  organizationId: 'org-1',
  workspaceId: 'ws-1',
  runId: 'run-1',
  phase: 'apply',
  status: 'queued',
  statusMs: {},
  namespace: 'shop',
  ticketHash: null,
  tokenHash: null,
  cancellation: 'none',
  logBytes: 0,
}

function jobWith(toolVersion: string | null, driver: 'exec' | 'docker' = 'exec') {
  const settings = { ...EXECUTION_DEFAULTS, driver, image: 'tools:1' }
  const workspace = { name: 'one', toolVersion }
  const address = 'https://reeve.example'
  return phaseJob({ phase: PHASE, workspace, settings, address, authorities: '' })
}

test('phase job: it is started once and never again', () => {
  const [group] = jobWith(null).TaskGroups ?? []
  assert.equal(group?.RestartPolicy?.Attempts, 0)
  assert.equal(group?.RestartPolicy?.Mode, 'fail')
  assert.deepEqual(group?.ReschedulePolicy, { Attempts: 0, Unlimited: false })
})

test('phase job: it is interrupted as the tool wants to be, and has time to end', () => {
  const [task] = jobWith(null).TaskGroups?.[0]?.Tasks ?? []
  assert.equal(task?.KillSignal, 'SIGINT')
  assert.equal(task?.KillTimeout, 600_000_000_000)
})

const VERSIONS = [
  { name: 'any version', version: null, operand: 'is_set' },
  { name: 'the latest', version: 'latest', operand: 'is_set' },
  { name: 'an exact version', version: '1.11.4', operand: '=' },
  { name: 'a range', version: '~> 1.11', operand: 'version' },
]
for (const { name, version, operand } of VERSIONS)
  test(`phase job: the node has the tool in ${name}`, () => {
    const [constraint] = jobWith(version).TaskGroups?.[0]?.Constraints ?? []
    assert.equal(constraint?.Operand, operand)
  })

test('phase job: an image has its own tool', () => {
  const [group] = jobWith('1.11.4', 'docker').TaskGroups ?? []
  assert.deepEqual(group?.Constraints, [])
  assert.equal(group?.Tasks?.[0]?.Config?.['image'], 'tools:1')
})

test('phase job: the ticket is read from a variable of the task, and is not in the job', () => {
  const [task] = jobWith(null).TaskGroups?.[0]?.Tasks ?? []
  const [template] = task?.Templates ?? []
  assert.match(template?.EmbeddedTmpl ?? '', /variable "service\/jobs\/run-1-apply\/apply\/runner"/)
  assert.deepEqual([template?.DestPath, template?.Perms], ['secrets/ticket', '0600'])
  assert.ok(!Object.keys(task?.Env ?? {}).some((name) => name.includes('TICKET')))
})
