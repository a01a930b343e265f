import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Job as JobSchema, ParsedJob, type Job } from '@reeve/contract'
import { Value } from 'typebox/value'
import { formatDiagnostic } from '@reeve/hcl'
import { canonicalizeJob } from '../model/index.ts'
import { parseJobFile, type JobFile } from './parse-job-file.ts'

const request = { file: 'input.hcl', strict: true, files: undefined, random: { next: () => 0 } }

function read(text: string): JobFile {
  const result = parseJobFile({ ...request, text })
  assert.ok(result.ok, result.ok ? '' : result.error.map(formatDiagnostic).join('\n'))
  return result.value
}

/** Removes nulls, which mark unset fields. */
function written(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(written)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, one]) => one !== null)
  return Object.fromEntries(entries.map(([name, one]) => [name, written(one)]))
}

const task = (inner: string) => `job "j" {\ngroup "g" {\ntask "t" {\n${inner}\n}\n}\n}`

const jobs = [
  {
    name: 'the label is ID and name',
    text: 'job "web" {}',
    job: { ID: 'web', Name: 'web' },
  },
  {
    name: 'attributes override the label',
    text: 'job "web" {\n id = "x"\n name = "My web"\n}',
    job: { ID: 'x', Name: 'My web' },
  },
  {
    name: 'tasks in a job become groups before the others',
    text: 'job "j" {\n group "g" {}\n task "a" {\n driver = "mock"\n}\n task "b" {}\n}',
    job: {
      ID: 'j',
      Name: 'j',
      TaskGroups: [
        { Name: 'a', Tasks: [{ Name: 'a', Driver: 'mock' }] },
        { Name: 'b', Tasks: [{ Name: 'b' }] },
        { Name: 'g' },
      ],
    },
  },
  {
    name: 'ports are divided by static',
    text: 'job "j" {\n group "g" {\n network {\n port "db" { static = 5432 }\n port "web" { to = 80 }\n port "x" {}\n port "y" { static = 0 }\n port "z" { static = null }\n}\n}\n}',
    job: {
      ID: 'j',
      Name: 'j',
      TaskGroups: [
        {
          Name: 'g',
          Networks: [
            {
              ReservedPorts: [{ Label: 'db', Value: 5432 }],
              DynamicPorts: [
                { Label: 'web', To: 80 },
                { Label: 'x' },
                { Label: 'y', Value: 0 },
                { Label: 'z' },
              ],
            },
          ],
        },
      ],
    },
  },
  {
    name: 'a cron sets the type of the spec',
    text: 'job "j" {\n periodic {\n crons = ["@daily", "0 * * * *"]\n}\n}',
    job: {
      ID: 'j',
      Name: 'j',
      Periodic: { Specs: ['@daily', '0 * * * *'], SpecType: 'cron' },
    },
  },
  {
    name: 'the check_restart of a service is merged into its checks',
    text: 'job "j" {\n group "g" {\n service {\n check_restart {\n limit = 3\n grace = "1s"\n}\n check {}\n check {\n check_restart {\n grace = "9s"\n}\n}\n}\n}\n}',
    job: {
      ID: 'j',
      Name: 'j',
      TaskGroups: [
        {
          Name: 'g',
          Services: [
            {
              Checks: [
                { CheckRestart: { Limit: 3, Grace: 1e9 } },
                { CheckRestart: { Limit: 3, Grace: 9e9 } },
              ],
            },
          ],
        },
      ],
    },
  },
  {
    name: 'an empty lifecycle is none',
    text: task('lifecycle {}'),
    job: { ID: 'j', Name: 'j', TaskGroups: [{ Name: 'g', Tasks: [{ Name: 't' }] }] },
  },
  {
    name: 'null leaves an attribute unset',
    text: task('user = null\nleader = null\nenv = null'),
    job: { ID: 'j', Name: 'j', TaskGroups: [{ Name: 'g', Tasks: [{ Name: 't' }] }] },
  },
  {
    name: 'meta becomes text',
    text: 'job "j" {\n meta {\n a = 1\n b = true\n c = 12345678901234567890\n d = 0.1\n}\n}',
    job: {
      ID: 'j',
      Name: 'j',
      Meta: { a: '1', b: 'true', c: '12345678901234567890', d: '0.1' },
    },
  },
  {
    name: 'a map keeps any key',
    text: 'job "j" {\n meta = {\n "net.core.x" = 1\n "__proto__" = "p"\n}\n}',
    job: {
      ID: 'j',
      Name: 'j',
      Meta: Object.fromEntries([
        ['net.core.x', '1'],
        ['__proto__', 'p'],
      ]),
    },
  },
]

for (const c of jobs)
  test(`parseJobFile: ${c.name}`, () => assert.deepEqual(written(read(c.text).job), c.job))

test('parseJobFile: a template has its defaults', () => {
  const [template] = read(task('template {}')).job.TaskGroups?.[0]?.Tasks?.[0]?.Templates ?? []
  assert.deepEqual(written(template), {
    ChangeMode: 'restart',
    Splay: 5e9,
    Perms: '0644',
    ErrMissingKey: false,
  })
  const signal = 'template {\nchange_mode = "signal"\nchange_script {\ncommand = "x"\n}\n}'
  const [second] = read(task(signal)).job.TaskGroups?.[0]?.Tasks?.[0]?.Templates ?? []
  assert.equal(second?.ChangeSignal, null)
  assert.deepEqual(second?.ChangeScript, {
    Command: 'x',
    Args: [],
    Timeout: 5e9,
    FailOnError: false,
    RunOnFirstRender: false,
  })
})

test('parseJobFile: secrets settings of a job or group apply to its tasks', () => {
  const { job } = read(`job "j" {
    secret_store { role = "job" }
    secret "a" { path = "job/a" }
    secret "b" { path = "job/b" }
    task "solo" {}
    group "g" {
      secret_store { role = "group" }
      secret "a" { path = "group/a" }
      task "own" {
        secret_store { role = "task" }
        secret "a" { path = "task/a" }
      }
      task "none" {}
    }
  }`)
  const tasks = (job.TaskGroups ?? []).flatMap((group) => group.Tasks ?? [])
  const seen = tasks.map(({ Name, SecretStore, Secrets }) => [
    Name,
    SecretStore?.Role,
    ...(Secrets ?? []).map((secret) => secret.Path),
  ])
  assert.deepEqual(seen, [
    ['solo', 'job', 'job/a', 'job/b'],
    ['own', 'task', 'task/a', 'job/b'],
    ['none', 'group', 'group/a', 'job/b'],
  ])
  const { Env, DisableFile, ChangeMode, ChangeSignal, Cluster } = tasks[0]?.SecretStore ?? {}
  const defaults = [Env, DisableFile, ChangeMode, ChangeSignal, Cluster]
  assert.deepEqual(defaults, [true, false, 'restart', null, null])
})

test('parseJobFile: the older switch of logs is inverted', () => {
  const { job, warnings } = read(task('logs { enabled = false }'))
  assert.equal(job.TaskGroups?.[0]?.Tasks?.[0]?.LogConfig?.Disabled, true)
  assert.deepEqual(
    warnings.map((one) => one.summary),
    ['Deprecated argument'],
  )
})

test('parseJobFile: a number that JSON cannot hold is rounded with a warning', () => {
  const { job, warnings } = read(task('config { a = 12345678901234567890 }'))
  assert.deepEqual(job.TaskGroups?.[0]?.Tasks?.[0]?.Config, { a: 12345678901234567000 })
  assert.deepEqual(
    warnings.map((one) => one.summary),
    ['Number rounded'],
  )
})

test('parseJobFile: a rounded number is reported at its position', () => {
  const { warnings } = read(
    task('config {\n  a = 12345678901234567890\n  nested { b = [1, 9007199254740993] }\n}'),
  )
  const places = warnings.map(({ range }) => [range.start.line, range.start.column])
  assert.deepEqual(places, [
    [5, 7],
    [6, 16],
  ])
})

test('parseJobFile: the answer has every field of the contract, null where unset', () => {
  const { job } = read(task('driver = "mock"'))
  assert.ok(Value.Check(ParsedJob, job))
  const [group] = job.TaskGroups ?? []
  assert.deepEqual(Object.keys(job), Object.keys(JobSchema.properties))
  assert.equal(job.Priority, null)
  assert.equal(group?.Count, null)
  assert.equal(group?.Tasks?.[0]?.Resources, null)
  assert.deepEqual(JSON.parse(JSON.stringify(job)), job)
})

test('parseJobFile: the canonical job takes it as it is', () => {
  const { job } = read(task('driver = "mock"'))
  const full: Job = canonicalizeJob(job, { region: 'global', namespace: 'default', nodePool: '' })
  assert.equal(full.TaskGroups[0]?.Count, 1)
  assert.equal(full.TaskGroups[0]?.Tasks[0]?.Resources.MemoryMB, 300)
})
