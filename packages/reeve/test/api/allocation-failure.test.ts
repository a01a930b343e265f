import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { AllocationFailure } from '@reeve/contract'
import { aGroup } from '../build/index.ts'
import { until } from '../build/until.ts'
import { aNodeWorld, shell, type NodeWorld } from './node-world.ts'

async function failureOf({ server }: NodeWorld, id: string): Promise<AllocationFailure> {
  return await server.ok('readAllocationFailure', { params: { alloc_id: id } })
}

const NO_RESCHEDULE = { Type: 'batch', Reschedule: { Attempts: 0, Unlimited: false } } as const

test('failure: the reason, the last lines of stderr, what follows and what to do', async (t) => {
  const world = await aNodeWorld(t)
  const script = 'echo starting; for i in $(seq 30); do echo "line $i" >&2; done; exit 3'
  const { id } = await world.run([shell(script)], { status: 'failed', job: NO_RESCHEDULE })
  const { Failure, Lines, LinesFrom, NextAttempt, Remedies } = await failureOf(world, id)
  assert.deepEqual(
    [Failure?.Kind, Failure?.Text, Failure?.Task, Failure?.ExitCode],
    ['exit', 'exited with code 3', 'web', 3],
  )
  assert.equal(LinesFrom, 'stderr')
  const wanted = Array.from({ length: 20 }, (_, index) => `line ${index + 11}`)
  assert.deepEqual(Lines, wanted)
  assert.equal(NextAttempt?.Kind, 'none')
  assert.deepEqual(
    Remedies.map(({ Kind, Command }) => [Kind, Command]),
    [
      ['read-logs', `reeve alloc logs --stderr --task web ${id.slice(0, 8)}`],
      ['edit-job', 'reeve job inspect job-1'],
    ],
  )
})

test('failure: of nothing that is wrong there is none', async (t) => {
  const world = await aNodeWorld(t)
  const { id } = await world.run([shell('sleep 300')])
  assert.deepEqual(await failureOf(world, id), { Failure: null, NextAttempt: null, Remedies: [] })
})

test('failure: a restart keeps the lines of the run before it, and says when it comes', async (t) => {
  const world = await aNodeWorld(t)
  const once =
    'if [ -e "$REEVE_TASK_DIR/again" ]; then echo second; else touch "$REEVE_TASK_DIR/again"; echo first; fi; exit 1'
  const policy = { Attempts: 2, Interval: 600e9, Delay: 120e9, Mode: 'fail' }
  const { id, row } = await world.run([shell(once, { RestartPolicy: policy })], {
    status: 'pending',
  })
  await until('the task to wait for its restart', () => {
    const events = row().TaskStates?.['web']?.Events ?? []
    return events.some(({ Type }) => Type === 'Restarting') || undefined
  })
  const { Failure, Lines, LinesFrom, NextAttempt } = await failureOf(world, id)
  assert.deepEqual([Failure?.Kind, Lines, LinesFrom], ['exit', ['first'], 'stdout'])
  assert.equal(NextAttempt?.Kind, 'restart')
  assert.match(
    NextAttempt.Text,
    /^Restart 1 on the same node; the restart policy allows 2 in 10m0s/,
  )
  assert.ok(NextAttempt.Time > (Failure?.Time ?? 0) + 119e9)
})

test('failure: lines are of the failed run alone, and stay when the log is gone', async (t) => {
  const world = await aNodeWorld(t)
  const flag = '"$REEVE_TASK_DIR/again"'
  const script = `if [ -e ${flag} ]; then exit 4; fi; touch ${flag}; echo noise >&2; exit 3`
  const policy = { Attempts: 1, Interval: 600e9, Delay: 1e9, Mode: 'fail' }
  const { id, directory } = await world.run([shell(script, { RestartPolicy: policy })], {
    status: 'failed',
    job: NO_RESCHEDULE,
  })
  await rm(join(directory, 'alloc', 'logs'), { recursive: true })
  const { Failure, Lines, LinesOmitted } = await failureOf(world, id)
  assert.equal(Failure?.ExitCode, 4)
  assert.deepEqual([Lines, LinesOmitted], [undefined, 'the task wrote nothing'])
})

test('failure: a start that fails names the driver, and has no lines', async (t) => {
  const world = await aNodeWorld(t)
  const Config = { command: '/bin/shh' }
  const { id } = await world.run([{ ...shell(''), Config }], {
    status: 'failed',
    job: NO_RESCHEDULE,
  })
  const { Failure, LinesOmitted, Remedies } = await failureOf(world, id)
  assert.equal(Failure?.Kind, 'driver')
  assert.match(Failure.Text, /\/bin\/shh/)
  assert.equal(LinesOmitted, 'the task was not running')
  assert.deepEqual(
    Remedies.map(({ Kind }) => Kind),
    ['edit-job', 'show-allocation'],
  )
})

test('failure: the failing check is told with its status and what it answered', async (t) => {
  const world = await aNodeWorld(t)
  const check = {
    Name: 'ready',
    Type: 'script',
    TaskName: 'web',
    Command: '/bin/sh',
    Args: ['-c', 'echo db: connection refused; exit 2'],
    Interval: 1e9,
    Timeout: 5e9,
    CheckRestart: { Limit: 2, Grace: 0, IgnoreWarnings: false },
  }
  const Services = [{ Name: 'web', Provider: 'service', Checks: [check] }]
  const policy = { Attempts: 0, Interval: 600e9, Delay: 1e9, Mode: 'fail' }
  const task = shell('echo up; sleep 300', { Services, RestartPolicy: policy, KillTimeout: 1e9 })
  const { id } = await world.run([task], { status: 'failed' })
  const { Failure, Check, Lines, Remedies } = await failureOf(world, id)
  assert.deepEqual([Failure?.Kind, Failure?.Text], ['check', 'check "ready" unhealthy'])
  assert.deepEqual(
    [Check?.Check, Check?.Status, Check?.Output.trim()],
    ['ready', 'failure', 'db: connection refused'],
  )
  assert.deepEqual(Lines, ['up'])
  assert.equal(Remedies[0]?.Kind, 'read-checks')
})

test('failure: without read-logs the reason stays and the lines are left out', async (t) => {
  const world = await aNodeWorld(t, { aclEnabled: true })
  const { server } = world
  const token = (await server.ok('bootstrapAcl')).SecretID
  const Rules = 'namespace "default" { capabilities = ["read-job"] }'
  const body = { Name: 'few', Rules }
  await server.ok('writeAclPolicy', { token, params: { policy_name: 'few' }, body })
  const made = await server.ok('createAclToken', {
    token,
    body: { Type: 'client', Policies: ['few'] },
  })
  const run = { status: 'failed', job: NO_RESCHEDULE, token }
  const { id } = await world.run([shell('echo secret >&2; exit 3')], run)
  const params = { alloc_id: id }
  const few = await server.ok('readAllocationFailure', { params, token: made.SecretID })
  assert.equal(few.Failure?.Kind, 'exit')
  assert.deepEqual([few.Lines, few.LinesOmitted], [undefined, 'needs read-logs'])
  const all = await server.ok('readAllocationFailure', { params, token })
  assert.deepEqual(all.Lines, ['secret'])
  const none = await world.get(`/v1/allocation/${id}/failure`, { token: '' })
  assert.deepEqual([none.status, none.text], [404, 'allocation not found'])
})

test('failure: the remedy names the place in the job file, and the last stable version', async (t) => {
  const world = await aNodeWorld(t)
  const Source = [
    'job "placed" {',
    '  type = "batch"',
    '  group "app" {',
    '    reschedule { attempts = 0 }',
    '    restart { attempts = 0 }',
    '    task "main" {',
    '      driver = "raw_exec"',
    '      config {',
    '        command = "/bin/false"',
    '      }',
    '    }',
    '  }',
    '}',
  ].join('\n')
  const { server } = world
  const Job = await server.ok('parseJob', { body: { JobHCL: Source, Canonicalize: true } })
  await server.ok('registerJob', { body: { Job, Submission: { Source, Format: 'hcl2' } } })
  const row = await until('the allocation to fail', () =>
    [...server.context.store.tables.allocations.rows()].find(
      ({ JobID, ClientStatus }) => JobID === 'placed' && ClientStatus === 'failed',
    ),
  )
  const { Remedies } = await failureOf(world, row.ID)
  const edit = Remedies.find(({ Kind }) => Kind === 'edit-job')
  assert.deepEqual(edit?.Place, { Line: 8, Column: 7 })
  assert.equal(edit.Command, 'reeve job inspect --hcl --version 0 placed')
})

test('failure: a template that waits for a variable names it and the command that writes it', async (t) => {
  const world = await aNodeWorld(t)
  const template = { EmbeddedTmpl: '{{ with variable "app/db" }}{{ .user }}{{ end }}' }
  const Templates = [{ ...template, DestPath: 'local/db' }]
  const Update = { MinHealthyTime: 0, HealthyDeadline: 5e9, ProgressDeadline: 10e9 }
  const Tasks = [{ Name: 'web', ...shell('sleep 300'), Templates }]
  const TaskGroups = [{ ...aGroup(), Count: 1, Tasks, Update }]
  const { id, row } = await world.run([], { status: 'pending', job: { TaskGroups } })
  await until(
    'the allocation to be unhealthy',
    () => row().DeploymentStatus?.Healthy === false || undefined,
  )
  const { Failure, Remedies } = await failureOf(world, id)
  assert.deepEqual(
    [Failure?.Kind, Failure?.Text, Failure?.Task],
    ['template', 'waiting for variable(app/db)', 'web'],
  )
  assert.deepEqual(
    Remedies.map(({ Kind, Command }) => [Kind, Command]),
    [
      ['write-variable', 'reeve var put app/db KEY=VALUE'],
      ['edit-job', 'reeve job inspect job-1'],
      ['show-allocation', `reeve alloc status ${id.slice(0, 8)}`],
    ],
  )
})
