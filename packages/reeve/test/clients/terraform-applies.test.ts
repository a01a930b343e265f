import assert from 'node:assert/strict'
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { until } from '../build/until.ts'
import { SKIPPED } from './infrastructure-tool.ts'
import { aRunWorld, type RunDirectory, type RunningTool, type RunWorld } from './run-world.ts'

const HELLO = 'resource "terraform_data" "x" { input = "hello" }\n'
const APPLY = ['apply', '-no-color', '-auto-approve'] as const

// The numbers are those of the conformance list of remote runs.
describe('applies of the real command-line tool', { skip: SKIPPED }, () => {
  test('applies', { concurrency: true }, async (t) => {
    const world = await aRunWorld(t)
    await Promise.all([
      t.test('C40 C54 C56 C57 the queue, and ways out of it', () => waitInQueue(world)),
      t.test('C48 saved plans', () => useSavedPlans(world)),
      t.test('C86 a saved plan whose state has changed since', () => refuseStalePlan(world)),
      t.test('C50 C53 approved elsewhere', () => approveElsewhere(world)),
      t.test('C51 C52 an error keeps what was done', () => keepPartialState(world)),
      t.test('C88 sensitive values', () => hideSecrets(world)),
      t.test('C61 C62 opa policies', () => evaluateOpa(world)),
      t.test('C66 warnings of the run', () => warnOfEmptySet(world)),
      t.test('C79 outputs of another workspace', () => readRemoteState(world)),
      t.test('C63 no override without the right to it', () => refuseOverride(world)),
    ])
  })
})

/** An apply that goes on when the file exists. */
function gated(path: string): string {
  const command = `until [ -e ${path} ]; do sleep 0.1; done`
  return `resource "terraform_data" "slow" {
    provisioner "local-exec" { command = "${command}" }
  }`
}

function says(tool: RunningTool, text: RegExp): Promise<true> {
  return until(
    `the tool to print ${text}`,
    () => text.test(tool.output()) || undefined,
    undefined,
    () => tool.output(),
  )
}

/** One run at a time, plans beside it, and ways out of the queue. */
async function waitInQueue(world: RunWorld): Promise<void> {
  const gate = join(world.dataDirectory, '../queue-is-open')
  const directory = await world.initialized('queued', gated(gate))
  const first = directory.start(...APPLY)
  await says(first, /Executing:/)
  const second = directory.start(...APPLY)
  await says(second, /Waiting for 1 run\(s\) to finish before being queued/)
  const waiting = await world.findRun('queued', 'pending')
  const planned = await directory.run('plan', '-no-color')
  assert.equal(planned.code, 0, planned.output)
  const late = await directory.run(...APPLY, '-lock-timeout=1s')
  assert.match(late.output, /Lock timeout exceeded/)
  // The tool gives up. Whether it also cancels its run depends on what it was asking just then.
  const left = await world.findRun('queued', 'pending')
  const canceled = directory.start(...APPLY)
  await says(canceled, /Waiting for/)
  const own = await world.findRun('queued', 'pending')
  assert.notEqual(own?.id, left?.id)
  for (const run of [left, own])
    if (run !== undefined && run.id !== waiting?.id)
      await world.api('POST', `/runs/${run.id}/actions/cancel`)
  assert.equal((await canceled.ended).code, 1)
  await writeFile(gate, '')
  for (const tool of [first, second]) {
    const { code, output } = await tool.ended
    assert.equal(code, 0, output)
  }
  assert.match(second.output(), /No changes/)
}

/** A saved plan is shown, applied once, and neither after another run nor elsewhere. */
async function useSavedPlans(world: RunWorld): Promise<void> {
  const directory = await world.initialized('saved', HELLO)
  const save = (name: string) => directory.run('plan', '-no-color', `-out=${name}`)
  await save('one')
  await save('two')
  const shown = await directory.run('show', '-json', 'one')
  assert.equal(Object(JSON.parse(shown.output))['resource_changes'].length, 1)
  const applied = await directory.run('apply', '-no-color', 'one')
  assert.equal(applied.code, 0, applied.output)
  const stale = await directory.run('apply', '-no-color', 'two')
  assert.equal(stale.code, 1)
  assert.match(stale.output, /discarded/i)
  const other = await world.initialized('saved-elsewhere', HELLO)
  await copyFile(join(directory.path, 'one'), join(other.path, 'one'))
  const foreign = await other.run('apply', '-no-color', 'one')
  assert.equal(foreign.code, 1)
  assert.match(foreign.output, /workspace/i)
}

/** A state that was pushed after the plan makes it stale: nothing is applied. */
async function refuseStalePlan(world: RunWorld): Promise<void> {
  const directory = await world.initialized('stale', HELLO)
  const planned = await directory.run('plan', '-no-color', '-out=old')
  assert.equal(planned.code, 0, planned.output)
  const imported = await directory.run('import', '-no-color', 'terraform_data.x', 'the-id')
  assert.equal(imported.code, 0, imported.output)
  const { code, output } = await directory.run('apply', '-no-color', 'old')
  assert.equal(code, 1, output)
  assert.match(output, /Saved plan is stale/)
  const shown = await directory.run('state', 'show', '-no-color', 'terraform_data.x')
  assert.match(shown.output, /"the-id"/)
  const { json: workspace } = await world.api('GET', '/organizations/acme/workspaces/stale')
  assert.equal(workspace.data.attributes['locked'], false)
}

/** A question that somebody else answers ends, and the apply is followed. */
async function approveElsewhere(world: RunWorld): Promise<void> {
  const text = `${HELLO}output "secret" {\n  value     = "s3cret-output"\n  sensitive = true\n}\n`
  const directory = await world.initialized('elsewhere', text)
  const apply = directory.start('apply', '-no-color')
  await says(apply, /Enter a value/)
  const run = await world.untilRun('elsewhere', 'planned')
  const comment = 'looks good'
  const { status } = await world.api('POST', `/runs/${run.id}/actions/apply`, { comment })
  assert.equal(status, 202)
  const { code, output } = await apply.ended
  assert.equal(code, 0, output)
  assert.match(output, /approved using the UI or API/)
  assert.match(output, /Apply complete/)
  // C53
  assert.equal(output.includes('s3cret-output'), false)
  assert.equal((await directory.run('output', '-raw', 'secret')).output, 's3cret-output')
  const events = await world.text(`/api/v2/runs/${run.id}/run-events`)
  assert.match(events, /looks good/)
}

const FAILING = `
resource "terraform_data" "first" {}
resource "terraform_data" "second" {
  depends_on = [terraform_data.first]
  provisioner "local-exec" { command = "exit 3" }
}
`

/** What was done before the error is in the state; the log begins with three lines. */
async function keepPartialState(world: RunWorld): Promise<void> {
  const directory = await world.initialized('partial', FAILING)
  const { code, output } = await directory.run(...APPLY)
  assert.equal(code, 1)
  assert.match(output, /exit status 3/)
  const run = await world.untilRun('partial', 'errored')
  const state = await directory.run('state', 'list')
  assert.match(state.output, /terraform_data\.first/)
  const { json: workspace } = await world.api('GET', '/organizations/acme/workspaces/partial')
  assert.equal(workspace.data.attributes['locked'], false)
  const { json } = await world.api('GET', `/applies/${run.relationships['apply']?.data?.id}`)
  const url = String(json.data.attributes['log-read-url'])
  const log = await world.text(`${url}?limit=65536&offset=0`)
  const [name, platform, third, ...more] = log.split('\n')
  assert.match(name ?? '', /Terraform v/)
  assert.match(platform ?? '', /^on /)
  assert.equal(third, 'Initializing partial...')
  assert.deepEqual([name?.charCodeAt(0), more.at(-1)?.charCodeAt(0)], [2, 3])
}

const SECRET = 'a-very-secret-value-7531'
const SECRETS = `
variable "password" { sensitive = true }
resource "terraform_data" "x" {
  input = sha256(var.password)
  provisioner "local-exec" { command = "echo shown=$PASSWORD; cat /proc/[0-9]*/cmdline | tr '\\\\0' ' '" }
}
`

/** A sensitive value is in no file, log, event, job or command line. */
async function hideSecrets(world: RunWorld): Promise<void> {
  const directory = await world.initialized('secrets', SECRETS)
  const { json } = await world.api('GET', '/organizations/acme/workspaces/secrets')
  for (const [key, category] of [
    ['password', 'terraform'],
    ['PASSWORD', 'env'],
  ]) {
    const attributes = { key, category, value: SECRET, sensitive: true }
    const body = { data: { type: 'vars', attributes } }
    await world.api('POST', `/workspaces/${json.data.id}/vars`, body)
  }
  const { code, output } = await directory.run(...APPLY)
  assert.equal(code, 0, output)
  // The environment of the shell is the only place: its echo is masked.
  assert.match(output, /shown=\*\*\*/)
  assert.equal(output.match(/\*\*\*/g)?.length, 1, 'no command line has the value')
  const answers = ['jobs?namespace=*', 'allocations?namespace=*', 'evaluations?namespace=*']
  for (const path of answers)
    assert.equal((await world.text(`/v1/${path}`)).includes(SECRET), false, path)
  for (const { ID, Namespace } of JSON.parse(await world.text('/v1/jobs?namespace=*'))) {
    const job = await world.text(`/v1/job/${encodeURIComponent(ID)}?namespace=${Namespace}`)
    assert.equal(job.includes(SECRET), false, ID)
  }
  assert.deepEqual(await filesWith(world.dataDirectory, SECRET), [])
}

/** Files below a directory that contain the text. */
async function filesWith(directory: string, text: string): Promise<readonly string[]> {
  const found: string[] = []
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const bytes = await readFile(path).catch(() => Buffer.of())
    if (bytes.includes(text)) found.push(path)
  }
  return found
}

const DENY = `package guard
deny contains message if {
  some change in input.plan.resource_changes
  message := sprintf("%s is not allowed", [change.address])
}
`

interface PolicyWish {
  readonly kind: 'native' | 'opa'
  readonly workspace: string
  readonly code: string
  readonly attributes: object
  readonly overridable: boolean
}

/** A policy in a set of its own, for one workspace. */
async function addPolicy(world: RunWorld, wish: PolicyWish): Promise<void> {
  const { kind, workspace, code, attributes, overridable } = wish
  const { json } = await world.api('GET', `/organizations/acme/workspaces/${workspace}`)
  const all = { name: `guard-${workspace}`, kind, ...attributes }
  const policy = await world.api('POST', '/organizations/acme/policies', {
    data: { type: 'policies', attributes: all },
  })
  const { id } = policy.json.data
  assert.equal((await world.api('PUT', `/policies/${id}/upload`, code)).status, 200)
  const relationships = {
    policies: { data: [{ type: 'policies', id }] },
    workspaces: { data: [{ type: 'workspaces', id: json.data.id }] },
  }
  const set = { name: `guard-${workspace}`, kind, ...(kind === 'opa' ? { overridable } : {}) }
  const created = await world.api('POST', '/organizations/acme/policy-sets', {
    data: { type: 'policy-sets', attributes: set, relationships },
  })
  assert.equal(created.status, 201)
}

/** Outcomes of opa policies are printed; one that can be overridden asks for it. */
async function evaluateOpa(world: RunWorld): Promise<void> {
  const opa = { kind: 'opa', code: DENY } as const
  const attributes = { query: 'data.guard.deny', 'enforcement-level': 'mandatory' }
  const strict = await world.initialized('strict', HELLO)
  await addPolicy(world, { ...opa, attributes, workspace: 'strict', overridable: false })
  const refused = await strict.run(...APPLY)
  assert.equal(refused.code, 1)
  assert.match(refused.output, /Overall Result: FAILED/)
  assert.match(refused.output, /Policy name: guard-strict\s+\| × Failed/)
  const run = await world.untilRun('strict', 'errored')
  const stages = await world.text(`/api/v2/runs/${run.id}/task-stages?include=policy_evaluations`)
  assert.match(stages, /"status":"failed"/)
  const lenient = await world.initialized('lenient', HELLO)
  await addPolicy(world, { ...opa, attributes, workspace: 'lenient', overridable: true })
  const apply = lenient.start('apply', '-no-color')
  await says(apply, /override/)
  apply.say('override\n')
  await says(apply, /Do you want to perform/)
  apply.say('yes\n')
  const { code, output } = await apply.ended
  assert.equal(code, 0, output)
  assert.match(output, /Apply complete/)
}

/** Approval in advance does not override for somebody without the right to it. */
async function refuseOverride(world: RunWorld): Promise<void> {
  const team = await world.api('POST', '/organizations/acme/teams', {
    data: { type: 'teams', attributes: { name: 'appliers' } },
  })
  const { id } = team.json.data
  const made = await world.api('POST', `/teams/${id}/authentication-token`)
  const token = String(made.json.data.attributes['token'])
  const owner = await world.initialized('soft', HELLO)
  await addPolicy(world, {
    kind: 'native',
    code: 'main = rule { false }\n',
    attributes: { 'enforcement-level': 'soft-mandatory' },
    workspace: 'soft',
    overridable: true,
  })
  const { json } = await world.api('GET', '/organizations/acme/workspaces/soft')
  const given = await world.api('POST', '/team-workspaces', {
    data: {
      type: 'team-workspaces',
      attributes: { access: 'write' },
      relationships: {
        team: { data: { type: 'teams', id } },
        workspace: { data: { type: 'workspaces', id: json.data.id } },
      },
    },
  })
  assert.equal(given.status, 201)
  const applier: RunDirectory = await world.workspace('soft', HELLO, { token })
  const refused = await applier.run(...APPLY)
  assert.equal(refused.code, 1, refused.output)
  assert.match(refused.output, /soft/i)
  await world.untilRun('soft', 'policy_override')
  const [run] = [await world.findRun('soft', 'policy_override')]
  await world.api('POST', `/runs/${run?.id}/actions/discard`)
  const overridden = await owner.run(...APPLY)
  assert.equal(overridden.code, 0, overridden.output)
}

/** A policy set that checks nothing is named before the plan. */
async function warnOfEmptySet(world: RunWorld): Promise<void> {
  const directory = await world.initialized('warned', HELLO)
  const { json } = await world.api('GET', '/organizations/acme/workspaces/warned')
  const relationships = { workspaces: { data: [{ type: 'workspaces', id: json.data.id }] } }
  const set = { type: 'policy-sets', attributes: { name: 'empty', kind: 'opa' }, relationships }
  const created = await world.api('POST', '/organizations/acme/policy-sets', { data: set })
  assert.equal(created.status, 201)
  const { code, output } = await directory.run('plan', '-no-color')
  assert.equal(code, 0, output)
  assert.match(output, /Warning: Policy set empty has no policies/)
}

const SHARED = `
output "subnet" { value = "subnet-17" }
output "password" {
  value     = "s3cret-of-another-workspace"
  sensitive = true
}
`

function reading(host: string): string {
  return `
data "terraform_remote_state" "network" {
  backend = "remote"
  config = {
    hostname     = "${host}"
    organization = "acme"
    workspaces   = { name = "network" }
  }
}
resource "terraform_data" "x" { input = data.terraform_remote_state.network.outputs.subnet }
output "subnet" { value = terraform_data.x.output }
output "length" { value = nonsensitive(length(data.terraform_remote_state.network.outputs.password)) }
`
}

/** Runs read the outputs of workspaces that share them, also when they apply. */
async function readRemoteState(world: RunWorld): Promise<void> {
  const network = await world.initialized('network', SHARED)
  const shared = await network.run(...APPLY)
  assert.equal(shared.code, 0, shared.output)
  const reader = await world.initialized('reader', reading(world.host))
  const refused = await reader.run('plan', '-no-color')
  assert.equal(refused.code, 1, refused.output)
  assert.match(
    refused.output.replaceAll(/\s*\n[│\s]*/g, ' '),
    /does not share its outputs with workspace reader/,
  )
  const id = async (name: string) =>
    (await world.api('GET', `/organizations/acme/workspaces/${name}`)).json.data.id
  const consumers = `/workspaces/${await id('network')}/relationships/remote-state-consumers`
  const data = [{ type: 'workspaces', id: await id('reader') }]
  assert.equal((await world.api('POST', consumers, { data })).status, 204)
  const applied = await reader.run(...APPLY)
  assert.equal(applied.code, 0, applied.output)
  assert.equal((await reader.run('output', '-raw', 'subnet')).output, 'subnet-17')
  assert.equal((await reader.run('output', '-raw', 'length')).output, '27')
  assert.equal(applied.output.includes('s3cret-of-another-workspace'), false)
}
