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
