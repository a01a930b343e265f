// tidy-allow vendor: the name of the tool is part of node attributes and paths
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunPhaseRow } from '../model/index.ts'
import { EXECUTION_DEFAULTS, buildPhaseJob, type ExecutionSettings } from './phase-job.ts'

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

function jobWith(toolVersion: string | null, more: Partial<ExecutionSettings> = {}) {
  const settings = { ...EXECUTION_DEFAULTS, ...more }
  const workspace = { name: 'one' }
  const address = 'https://reeve.example'
  return buildPhaseJob({ phase: PHASE, workspace, settings, toolVersion, address, authorities: '' })
}

test('phase job: it is never restarted', () => {
  const [group] = jobWith('1.11.4').TaskGroups ?? []
  assert.equal(group?.RestartPolicy?.Attempts, 0)
  assert.equal(group?.RestartPolicy?.Mode, 'fail')
  assert.deepEqual(group?.ReschedulePolicy, { Attempts: 0, Unlimited: false })
})

test('phase job: it is interrupted with the signal of the tool, and has time to end', () => {
  const [task] = jobWith('1.11.4').TaskGroups?.[0]?.Tasks ?? []
  assert.equal(task?.KillSignal, 'SIGINT')
  assert.equal(task?.KillTimeout, 600_000_000_000)
})

test('phase job: it requires a node with the version, and uses that version', () => {
  const [group] = jobWith('1.11.4').TaskGroups ?? []
  const reference = '${attr.infrastructure.terraform.1.11.4.path}'
  assert.deepEqual(group?.Constraints, [{ LTarget: reference, RTarget: '', Operand: 'is_set' }])
  assert.equal(group?.Tasks?.[0]?.Env?.['REEVE_PHASE_TOOL'], reference)
})

test('phase job: the kill timeout of an apply is configurable', () => {
  const [task] = jobWith('1.11.4', { applyKillMs: 90_000 }).TaskGroups?.[0]?.Tasks ?? []
  assert.equal(task?.KillTimeout, 90_000_000_000)
})

test('phase job: an image contains the tool', () => {
  const more = { source: 'image', image: 'tools:{version}' } as const
  const [group] = jobWith('1.11.4', more).TaskGroups ?? []
  const [task] = group?.Tasks ?? []
  assert.deepEqual(group?.Constraints, [])
  assert.deepEqual([task?.Driver, task?.Config?.['image']], ['docker', 'tools:1.11.4'])
  assert.equal(task?.Env?.['REEVE_PHASE_TOOL'], 'terraform')
})

test('phase job: an artifact is unpacked into the task, for the platform of its node', () => {
  const artifact = 'https://tools.example/{version}/{os}_{arch}.zip'
  const [group] = jobWith('1.11.4', { source: 'artifact', artifact }).TaskGroups ?? []
  const [task] = group?.Tasks ?? []
  assert.deepEqual(group?.Constraints, [])
  assert.deepEqual(task?.Artifacts, [
    {
      GetterSource: 'https://tools.example/1.11.4/${attr.kernel.name}_${attr.cpu.arch}.zip',
      GetterMode: 'dir',
      RelativeDest: 'local/tool',
    },
  ])
  assert.equal(task?.Env?.['REEVE_PHASE_TOOL'], 'tool/terraform')
})

test('phase job: the ticket is read from a variable of the task, and is not in the job', () => {
  const [task] = jobWith('1.11.4').TaskGroups?.[0]?.Tasks ?? []
  const [template] = task?.Templates ?? []
  assert.match(template?.EmbeddedTmpl ?? '', /variable "service\/jobs\/run-1-apply\/apply\/runner"/)
  assert.deepEqual([template?.DestPath, template?.Perms], ['secrets/ticket', '0600'])
  assert.ok(!Object.keys(task?.Env ?? {}).some((name) => name.includes('TICKET')))
})
