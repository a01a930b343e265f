import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { until } from '../build/until.ts'
import { SKIPPED } from './infrastructure-tool.ts'
import { aRunWorld, type RunDirectory, type RunWorld } from './run-world.ts'

// The numbers are those of the conformance list of remote runs.
describe('plans of the real command-line tool', { skip: SKIPPED }, () => {
  test('plans', { concurrency: true }, async (t) => {
    const world = await aRunWorld(t)
    await Promise.all([
      t.test('C31 values of all sources', () => passVariables(world)),
      t.test('C29 C30 C34 C35 rendered like a local one', () => renderLikeLocal(world)),
      t.test('C25 C26 working directory and ignored files', () => uploadDirectories(world)),
      t.test('C42 generated configuration', () => generateConfiguration(world)),
      t.test('C32 C47 flags, and an apply without changes', () => planWithFlags(world)),
      t.test('C39 C57 killed and interrupted clients', (one) => leavePlans(one, world)),
      t.test('C33 C45 the older backend', () => useOlderBackend(world)),
    ])
  })
})

const VALUES = `
variable "text" { type = string }
variable "list" { type = list(string) }
variable "object" { type = object({ n = number, t = string }) }
output "all" { value = { text = var.text, list = var.list, object = var.object } }
resource "terraform_data" "x" { input = var.text }
`

/** Values of the three sources reach the run as they are, quotes and templates included. */
async function passVariables(world: RunWorld): Promise<void> {
  const object = { n: 12, t: 'x "y" ${z}' }
  const environment = { TF_VAR_object: '{ n = 12, t = "x \\"y\\" $${z}" }' }
  const directory = await world.initialized('values', VALUES, { environment })
  await writeFile(join(directory.path, 'more.tfvars'), 'list = ["a", "b \\"c\\""]\n')
  const text = 'a "quoted" ${template}'
  const args = ['-no-color', '-auto-approve', '-var', `text=${text}`, '-var-file=more.tfvars']
  const applied = await directory.run('apply', ...args)
  assert.equal(applied.code, 0, applied.output)
  const { output } = await directory.run('output', '-json', 'all')
  assert.deepEqual(JSON.parse(output), { text, list: ['a', 'b "c"'], object })
}

const RENDERED = `
variable "size" { default = 1 }
variable "secret" {
  default   = "s3cret-one"
  sensitive = true
}
resource "terraform_data" "plain" { input = { size = var.size, tags = ["a", "b"] } }
resource "terraform_data" "hidden" { input = { password = var.secret, size = var.size } }
output "size" { value = var.size }
`

/** A plan is rendered as one that ran here, without sensitive values. */
async function renderLikeLocal(world: RunWorld): Promise<void> {
  const directory = await world.initialized('rendered', RENDERED)
  const local = await world.workspace('rendered', RENDERED, {
    environment: { TF_FORCE_LOCAL_BACKEND: '1' },
  })
  const changed = ['-no-color', '-detailed-exitcode', '-var', 'size=2', '-var', 'secret=s3cret-two']
  for (const args of [['-no-color', '-detailed-exitcode'], changed]) {
    const remote = await directory.run('plan', ...args)
    assert.equal(remote.code, 2, remote.output)
    const wanted = await local.run('plan', ...args)
    assert.equal(changesIn(remote.output), changesIn(wanted.output))
    assert.equal(remote.output.includes('s3cret-two'), false)
    if (args !== changed) await directory.run('apply', '-no-color', '-auto-approve')
  }
  const run = await world.untilRun('rendered', 'planned_and_finished')
  const plan = run.relationships['plan']?.data?.id ?? ''
  const redacted = await world.text(`/api/v2/plans/${plan}/json-output-redacted`)
  assert.match(redacted, /terraform_data\.hidden/)
  const whole = await world.text(`/api/v2/plans/${plan}/json-output`)
  // The tool itself shows the earlier value, in an attribute that it does not mark.
  for (const text of [redacted, whole]) assert.equal(text.includes('s3cret-two'), false)
  const { json } = await world.api('GET', '/organizations/acme/workspaces/rendered')
  assert.equal(json.data.attributes['locked'], false)
  assert.equal(json.data.attributes['tool-version'], await versionOf(directory))
  const same = await directory.run('plan', '-no-color', '-detailed-exitcode')
  assert.equal(same.code, 0, same.output)
}

/** From the first change to the summary. */
function changesIn(output: string): string {
  const [changes] = /^ {2}# [^]*?^Plan: .*$/m.exec(output) ?? []
  assert.ok(changes !== undefined, output)
  return changes
}

async function versionOf(directory: RunDirectory): Promise<unknown> {
  const { output } = await directory.run('version', '-json')
  return Object(JSON.parse(output))['terraform_version']
}

/** The working directory is planned within its tree, and ignored files stay here. */
async function uploadDirectories(world: RunWorld): Promise<void> {
  const { json } = await world.api('POST', '/organizations/acme/workspaces', {
    data: { type: 'workspaces', attributes: { name: 'tree', 'working-directory': 'live/eu' } },
  })
  const outer = await world.workspace('tree', '')
  const modules = join(outer.path, 'modules/shared')
  await mkdir(modules, { recursive: true })
  await writeFile(join(modules, 'main.tf'), 'resource "terraform_data" "shared" {}\n')
  await writeFile(join(outer.path, '.terraformignore'), 'ignored.txt\n')
  await writeFile(join(outer.path, 'ignored.txt'), 'stays here')
  await writeFile(join(outer.path, 'main.tf'), '')
  const inner = await world.initialized(
    'tree/live/eu',
    'module "shared" { source = "../../modules/shared" }\n',
    { workspace: 'tree' },
  )
  const planned = await inner.run('plan', '-no-color')
  assert.equal(planned.code, 0, planned.output)
  assert.match(planned.output, /module\.shared\.terraform_data\.shared will be created/)
  const versions = await world.api('GET', `/workspaces/${json.data.id}/configuration-versions`)
  const version = versions.json.data[0]?.id ?? ''
  const path = `/api/v2/configuration-versions/${version}/download`
  const archive = gunzipSync(await world.bytes(path))
  assert.equal(archive.includes('modules/shared/main.tf'), true)
  assert.equal(archive.includes('ignored.txt'), true, 'the list itself is uploaded')
  assert.equal(archive.includes('stays here'), false)
}

/** Configuration that the tool wrote comes back to the user. */
async function generateConfiguration(world: RunWorld): Promise<void> {
  const text = 'import {\n  to = terraform_data.found\n  id = "an-id"\n}\n'
  const directory = await world.initialized('generated', text)
  const planned = await directory.run('plan', '-no-color', '-generate-config-out=generated.tf')
  assert.equal(planned.code, 0, planned.output)
  assert.match(planned.output, /1 to import/)
  const run = await world.untilRun('generated', 'planned_and_finished')
  const plan = run.relationships['plan']?.data?.id ?? ''
  const { json } = await world.api('GET', `/plans/${plan}`)
  assert.equal(json.data.attributes['generated-configuration'], true)
}

/** Flags that no apply of another test has. */
async function planWithFlags(world: RunWorld): Promise<void> {
  const directory = await world.initialized('flags', 'resource "terraform_data" "x" {}\n')
  const applied = await directory.run('apply', '-no-color', '-auto-approve')
  assert.equal(applied.code, 0, applied.output)
  const quick = await directory.run('plan', '-no-color', '-refresh=false')
  assert.match(quick.output, /No changes/)
  assert.equal(quick.output.includes('Refreshing state'), false)
  const destroy = await directory.run('plan', '-no-color', '-destroy')
  assert.match(destroy.output, /0 to add, 0 to change, 1 to destroy/)
  const none = await directory.run('apply', '-no-color')
  assert.equal(none.code, 0, none.output)
  assert.match(none.output, /No changes/, 'C47: without changes nothing is asked')
}

/** A killed client leaves its plan running; an interrupted one cancels it. */
async function leavePlans(t: TestContext, world: RunWorld): Promise<void> {
  const gate = await aGate(t)
  const text = `data "terraform_remote_state" "slow" {
    backend = "http"
    config  = { address = "http://127.0.0.1:${gate.port}/" }
  }`
  const directory = await world.initialized('left', text)
  const interrupted = directory.start('apply', '-no-color', '-auto-approve')
  await until('the first plan to wait', () => gate.waiting() || undefined)
  interrupted.kill('SIGINT')
  await until('the cancellation', async () => {
    const run = await world.findRun('left')
    return (run?.attributes['canceled-at'] ?? null) === null ? undefined : true
  })
  gate.answer()
  await interrupted.ended
  await world.untilRun('left', 'canceled')
  const killed = directory.start('plan', '-no-color')
  await until('the second plan to wait', () => gate.waiting() || undefined)
  killed.kill('SIGKILL')
  await killed.ended
  gate.answer()
  await world.untilRun('left', 'planned_and_finished')
}

const STATE = { version: 4, serial: 1, lineage: 'l', outputs: {}, resources: [] }

/** A server of states whose requests wait. */
async function aGate(t: TestContext) {
  const waiting: (() => void)[] = []
  const server = createServer((_request, response) => {
    waiting.push(() => response.end(JSON.stringify(STATE)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  return {
    port: address.port,
    waiting: () => waiting.length > 0,
    answer: () => {
      for (const respond of waiting.splice(0)) respond()
    },
  }
}

/** The older backend prints logs as they are, so it gets readable ones. */
async function useOlderBackend(world: RunWorld): Promise<void> {
  const text = 'resource "terraform_data" "x" { input = "hello" }\n'
  const directory = await world.initialized('older', text, { backend: 'remote' })
  const applied = await directory.run('apply', '-no-color', '-auto-approve')
  assert.equal(applied.code, 0, applied.output)
  assert.match(applied.output, /^ {2}# terraform_data\.x will be created$/m)
  assert.match(applied.output, /^Apply complete! Resources: 1 added, 0 changed, 0 destroyed\.$/m)
  assert.equal(applied.output.includes('"@level"'), false, applied.output)
  await writeFile(join(directory.path, 'failing.tf'), 'output "o" {\n  value = tonumber("x")\n}\n')
  const failing = await directory.run('plan', '-no-color')
  assert.equal(failing.code, 1)
  assert.match(failing.output, /Invalid function argument/)
}
