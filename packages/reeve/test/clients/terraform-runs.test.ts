import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from '../build/until.ts'
import { SKIPPED } from './infrastructure-tool.ts'
import { aRunWorld, type RunDirectory, type RunWorld } from './run-world.ts'

const HELLO = `
resource "terraform_data" "x" { input = "hello" }
output "greeting" { value = terraform_data.x.output }
`

const SLOW = `
resource "terraform_data" "first" { input = "done" }
resource "terraform_data" "slow" {
  depends_on = [terraform_data.first]
  provisioner "local-exec" { command = "sleep 60" }
}
`

const STEP_MS_MAX = 60_000

describe('the real command-line tool runs here', { skip: SKIPPED }, () => {
  test('plans, applies, approves, discards, saves, cancels and destroys', async (t) => {
    const world = await aRunWorld(t)
    await Promise.all([
      applyAndDestroy(world),
      approveAndDiscard(world),
      failToPlan(world),
      saveAndApply(world),
      cancelApply(world),
      chooseResources(world),
      refreshAndImport(world),
      waitForLock(world),
      judgeByPolicies(world),
      pinVersion(world),
      useVariableSets(world),
    ])
  })

  test('a server that is killed during an apply finishes it after its start', async (t) => {
    const world = await aRunWorld(t)
    const command = 'sleep 4; echo survived'
    const text = `resource "terraform_data" "x" {
      provisioner "local-exec" { command = "${command}" }
    }`
    const directory = await initialized(world, 'killed', text)
    const apply = directory.start('apply', '-no-color', '-auto-approve')
    const run = await until(
      'the apply to execute',
      () => findRun(world, 'killed', 'applying'),
      STEP_MS_MAX,
    )
    await world.restart()
    apply.kill('SIGKILL')
    await apply.ended
    await until('the run to be applied', () => findRun(world, 'killed', 'applied'), STEP_MS_MAX)
    const after = await world.api('GET', `/runs/${run}`)
    assert.equal(after.json.data.attributes['status'], 'applied')
    assert.match((await directory.run('state', 'list')).output, /terraform_data\.x/)
  })
})

async function applyAndDestroy(world: RunWorld): Promise<void> {
  // C49
  const directory = await initialized(world, 'apply', HELLO)
  const changed = await directory.run('plan', '-no-color', '-detailed-exitcode')
  assert.equal(changed.code, 2, changed.output)
  assert.match(changed.output, /terraform_data\.x will be created/)
  const applied = await directory.run('apply', '-no-color', '-auto-approve')
  assert.equal(applied.code, 0, applied.output)
  assert.match(applied.output, /Apply complete! Resources: 1 added/)
  const output = await directory.run('output', '-raw', 'greeting')
  assert.equal(output.output, 'hello')
  const destroyed = await directory.run('destroy', '-no-color', '-auto-approve')
  assert.equal(destroyed.code, 0, destroyed.output)
  assert.match(destroyed.output, /1 destroyed/)
  assert.equal(await isLocked(world, 'apply'), false)
}

async function approveAndDiscard(world: RunWorld): Promise<void> {
  // C43, C44
  const directory = await initialized(world, 'approve', HELLO)
  for (const [answer, wanted] of [
    ['no', 'discarded'],
    ['yes', 'applied'],
  ] as const) {
    const apply = directory.start('apply', '-no-color')
    await until(
      'the question',
      () => /Enter a value/.test(apply.output()) || undefined,
      STEP_MS_MAX,
    )
    apply.say(`${answer}\n`)
    const { code, output } = await apply.ended
    assert.equal(code, wanted === 'applied' ? 0 : 1, output)
    assert.ok((await findRun(world, 'approve', wanted)) !== undefined, output)
  }
}

async function failToPlan(world: RunWorld): Promise<void> {
  const text = 'output "o" {\n  value = tonumber("x")\n}'
  const directory = await initialized(world, 'failing', text)
  const { code, output } = await directory.run('plan', '-no-color')
  assert.equal(code, 1, output)
  assert.match(output, /Invalid function argument/)
  assert.ok((await findRun(world, 'failing', 'errored')) !== undefined)
}

async function saveAndApply(world: RunWorld): Promise<void> {
  const directory = await initialized(world, 'saved', HELLO)
  const planned = await directory.run('plan', '-no-color', '-out=saved.plan')
  assert.equal(planned.code, 0, planned.output)
  assert.ok((await findRun(world, 'saved', 'planned_and_saved')) !== undefined)
  const shown = await directory.run('show', '-no-color', 'saved.plan')
  assert.match(shown.output, /terraform_data\.x will be created/)
  const applied = await directory.run('apply', '-no-color', 'saved.plan')
  assert.equal(applied.code, 0, applied.output)
  const again = await directory.run('apply', '-no-color', 'saved.plan')
  assert.equal(again.code, 1, again.output)
}

async function cancelApply(world: RunWorld): Promise<void> {
  const directory = await initialized(world, 'cancel', SLOW)
  const apply = directory.start('apply', '-no-color', '-auto-approve')
  await until(
    'the slow resource',
    () => /Executing:/.test(apply.output()) || undefined,
    STEP_MS_MAX,
  )
  apply.kill('SIGINT')
  await apply.ended
  await until('the run to be canceled', () => findRun(world, 'cancel', 'canceled'), STEP_MS_MAX)
  // What it had finished is in the state, and the workspace is free.
  const state = await directory.run('state', 'list')
  assert.match(state.output, /terraform_data\.first/)
  assert.equal(await isLocked(world, 'cancel'), false)
}

const CHOICES = `
variable "size" { default = 1 }
resource "terraform_data" "a" { input = var.size }
resource "terraform_data" "b" { input = var.size }
`

/** `-target` and `-replace` reach the run, and the state commands work between runs. */
async function chooseResources(world: RunWorld): Promise<void> {
  const directory = await initialized(world, 'choices', CHOICES)
  const flags = ['-no-color', '-auto-approve'] as const
  const one = await directory.run('apply', ...flags, '-target=terraform_data.a')
  assert.match(one.output, /Resources: 1 added, 0 changed, 0 destroyed/)
  assert.equal((await directory.run('state', 'list')).output, 'terraform_data.a\n')
  assert.match((await directory.run('apply', ...flags)).output, /Resources: 1 added/)
  const replaced = await directory.run('apply', ...flags, '-replace=terraform_data.b')
  assert.match(replaced.output, /Resources: 1 added, 0 changed, 1 destroyed/)
  const moved = await directory.run('state', 'mv', 'terraform_data.b', 'terraform_data.c')
  assert.equal(moved.code, 0, moved.output)
  const removed = await directory.run('state', 'rm', 'terraform_data.c')
  assert.equal(removed.code, 0, removed.output)
  const planned = await directory.run('plan', '-no-color', '-var', 'size=2')
  assert.match(planned.output, /1 to add, 1 to change, 0 to destroy/)
}

/** `-refresh-only` changes no infrastructure; an imported resource is known to the next run. */
async function refreshAndImport(world: RunWorld): Promise<void> {
  const text = 'resource "terraform_data" "x" {}\n'
  const directory = await initialized(world, 'refreshed', text)
  const imported = await directory.run('import', '-no-color', 'terraform_data.x', 'the-id')
  assert.equal(imported.code, 0, imported.output)
  const flags = ['-no-color', '-auto-approve'] as const
  const refreshed = await directory.run('apply', ...flags, '-refresh-only')
  assert.equal(refreshed.code, 0, refreshed.output)
  const planned = await directory.run('plan', '-no-color', '-detailed-exitcode')
  assert.equal(planned.code, 0, planned.output)
  assert.match(planned.output, /No changes/)
}

/** The lock of a person holds the queue, and the tool names it; then the run goes on. */
async function waitForLock(world: RunWorld): Promise<void> {
  // C55
  const directory = await initialized(world, 'locked', HELLO)
  const { json } = await world.api('GET', '/organizations/acme/workspaces/locked')
  const path = `/workspaces/${json.data.id}/actions`
  await world.api('POST', `${path}/lock`, { reason: 'maintenance' })
  const apply = directory.start('apply', '-no-color', '-auto-approve')
  await until(
    'the tool to wait for the lock',
    () => /manually locked/i.test(apply.output()) || undefined,
    STEP_MS_MAX,
  )
  const refused = await directory.run('state', 'rm', 'terraform_data.x')
  assert.equal(refused.code, 1, refused.output)
  assert.match(refused.output, /lock/i)
  await world.api('POST', `${path}/unlock`)
  const { code, output } = await apply.ended
  assert.equal(code, 0, output)
}

const NATIVE = 'main = rule { false }\n'

/** A failed policy stops the tool; one that can be overridden waits for that. */
async function judgeByPolicies(world: RunWorld): Promise<void> {
  // C62, C64
  const directory = await initialized(world, 'judged', HELLO)
  const { json: workspace } = await world.api('GET', '/organizations/acme/workspaces/judged')
  const level = await addPolicy(world, workspace.data.id)
  const refused = await directory.run('apply', '-no-color', '-auto-approve')
  assert.equal(refused.code, 1, refused.output)
  assert.match(refused.output, /failed/i)
  assert.ok((await findRun(world, 'judged', 'errored')) !== undefined, refused.output)
  await level('soft-mandatory')
  const planned = await directory.run('plan', '-no-color')
  assert.equal(planned.code, 1, planned.output)
  const apply = directory.start('apply', '-no-color')
  await until(
    'the question for the override',
    () => /override/.test(apply.output()) || undefined,
    STEP_MS_MAX,
  )
  apply.say('override\n')
  await until('the question', () => /Do you want to perform/.test(apply.output()) || undefined)
  apply.say('yes\n')
  const { code, output } = await apply.ended
  assert.equal(code, 0, output)
  assert.match(output, /Apply complete/)
}

/** A policy of one workspace that always fails; gives what changes its level. */
async function addPolicy(world: RunWorld, workspaceId: string) {
  const attributes = { name: 'never', kind: 'native', 'enforcement-level': 'hard-mandatory' }
  const body = { data: { type: 'policies', attributes } }
  const { json } = await world.api('POST', '/organizations/acme/policies', body)
  const { id } = json.data
  const uploaded = await world.api('PUT', `/policies/${id}/upload`, NATIVE)
  assert.equal(uploaded.status, 200)
  const relationships = {
    policies: { data: [{ type: 'policies', id }] },
    workspaces: { data: [{ type: 'workspaces', id: workspaceId }] },
  }
  const set = { type: 'policy-sets', attributes: { name: 'judged', kind: 'native' }, relationships }
  const created = await world.api('POST', '/organizations/acme/policy-sets', { data: set })
  assert.equal(created.status, 201)
  return async (level: string): Promise<void> => {
    const change = { type: 'policies', id, attributes: { 'enforcement-level': level } }
    const { status } = await world.api('PATCH', `/policies/${id}`, { data: change })
    assert.equal(status, 200)
  }
}

/** A version that no node has ends the run, and the tool prints the reason. */
async function pinVersion(world: RunWorld): Promise<void> {
  const directory = await initialized(world, 'pinned', HELLO)
  const { json } = await world.api('GET', '/organizations/acme/workspaces/pinned')
  const attributes = { 'tool-version': '0.0.1' }
  const body = { data: { type: 'workspaces', attributes } }
  await world.api('PATCH', `/workspaces/${json.data.id}`, body)
  const { code, output } = await directory.run('plan', '-no-color')
  assert.equal(code, 1, output)
  assert.match(output, /No node has terraform 0\.0\.1; nodes have \d/)
}

const VARIABLES = `
variable "region" { type = string }
variable "zone" { type = string }
variable "password" { type = string }
resource "terraform_data" "x" { input = "\${var.region}-\${var.zone}" }
output "place" { value = terraform_data.x.output }
output "length" { value = length(var.password) }
resource "terraform_data" "told" {
  provisioner "local-exec" { command = "echo password=$PASSWORD" }
}
`

/** A set wins over another by its priority, and its secrets are in no log. */
async function useVariableSets(world: RunWorld): Promise<void> {
  const directory = await initialized(world, 'varsets', VARIABLES)
  const workspace = await world.api('GET', '/organizations/acme/workspaces/varsets')
  const members = { data: [{ type: 'workspaces', id: workspace.json.data.id }] }
  const secret = 'hunter2-in-a-set'
  const add = async (name: string, priority: boolean, vars: readonly object[]) => {
    const data = vars.map((attributes) => ({ type: 'vars', attributes }))
    const relationships = { workspaces: members, vars: { data } }
    const body = { data: { type: 'varsets', attributes: { name, priority }, relationships } }
    assert.equal((await world.api('POST', '/organizations/acme/varsets', body)).status, 201)
  }
  await add('first', true, [{ key: 'region', value: 'eu', category: 'terraform' }])
  await add('second', false, [
    { key: 'region', value: 'us', category: 'terraform' },
    { key: 'password', value: secret, category: 'terraform', sensitive: true },
    { key: 'PASSWORD', value: secret, category: 'env', sensitive: true },
    { key: 'TF_VAR_zone', value: 'a', category: 'env' },
  ])
  const applied = await directory.run('apply', '-no-color', '-auto-approve')
  assert.equal(applied.code, 0, applied.output)
  assert.match(applied.output, /password=\*\*\*/)
  assert.equal(applied.output.includes(secret), false)
  assert.equal((await directory.run('output', '-raw', 'place')).output, 'eu-a')
  assert.equal((await directory.run('output', '-raw', 'length')).output, String(secret.length))
}

async function initialized(world: RunWorld, name: string, text: string): Promise<RunDirectory> {
  const directory = await world.workspace(name, text)
  const { code, output } = await directory.run('init', '-no-color')
  assert.equal(code, 0, output)
  return directory
}

/** The newest run of a workspace that has this status. */
async function findRun(world: RunWorld, name: string, status: string): Promise<string | undefined> {
  const workspace = await world.api('GET', `/organizations/acme/workspaces/${name}`)
  const runs = await world.api('GET', `/workspaces/${workspace.json.data.id}/runs`)
  return runs.json.data.find(({ attributes }) => attributes['status'] === status)?.id
}

async function isLocked(world: RunWorld, name: string): Promise<unknown> {
  const { json } = await world.api('GET', `/organizations/acme/workspaces/${name}`)
  return json.data.attributes['locked']
}
