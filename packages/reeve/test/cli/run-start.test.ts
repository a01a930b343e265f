// tidy-allow vendor: the tool and the resources of its language
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { createClient, resource, type Client } from '@reeve/sdk'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aTar } from '../build/archive.ts'
import { aCommandLine, type CommandLineBench } from '../build/cli.ts'
import { SKIPPED } from '../clients/infrastructure-tool.ts'

const CONFIGURATION = `
resource "terraform_data" "one" { input = "first" }
resource "terraform_data" "two" { input = "second" }
`

const POLICY = `import "plan/v2" as plan

few = rule { length(plan.resource_changes) <= 1 }

main = rule { few }
`

test('run start', { skip: SKIPPED }, async (t) => {
  const reeve = await aCommandLine(t)
  await reeve.ok('org create acme --email ops@acme.example')
  await reeve.ok('workspace create api')
  const client = await governanceClient(reeve)
  await upload(client, CONFIGURATION)

  await t.test('a plan is followed, and awaits its confirmation', async () => {
    const { code, out, err } = await reeve.run('run start api --message first')
    assert.equal(code, EXIT_CODES.ok, err)
    assert.match(out, /Initializing api\.\.\.[^]*Plan: 2 to add[^]*\nMessage = first\n/)
    const [, id = ''] = /The run awaits confirmation: "reeve run apply (run-\w+)"/.exec(err) ?? []
    assert.match(await reeve.ok(`run discard ${id}`), /\nStatus += discarded\n/)
  })

  await t.test('--target, --auto-apply: the apply is followed too', async () => {
    const line = 'run start api --target terraform_data.one --auto-apply'
    const { code, out, err } = await reeve.run(line)
    assert.equal(code, EXIT_CODES.ok, err)
    assert.match(
      out,
      /Plan: 1 to add[^]*Apply complete! Resources: 1 added[^]*\nStatus += applied\n/,
    )
  })

  await t.test('--replace, --refresh-only, --destroy with --plan-only', async () => {
    const plan = async (flags: string) =>
      (await reeve.run(`run start api --plan-only ${flags}`)).out
    assert.match(
      await plan('--replace terraform_data.one'),
      /Plan: 2 to add, 0 to change, 1 to des/,
    )
    assert.match(await plan('--refresh-only'), /\nKind += refresh-only, plan-only\n/)
    assert.match(await plan('--destroy'), /Plan: 0 to add, 0 to change, 1 to destroy/)
  })

  await t.test('--detach: the run is queued only', async () => {
    const { code, out, err } = await reeve.run('run start api --plan-only --detach')
    assert.deepEqual([code, out], [EXIT_CODES.ok, ''])
    assert.match(err, /^Run run-\w+ is queued\.\n$/)
  })

  await t.test('a policy blocks the run; its override is shown with its comment', async () => {
    await reeve.file('few.native', POLICY)
    await reeve.ok('policy-set create guards --workspace api')
    await reeve.ok('policy create few.native --level soft-mandatory --set guards')
    const blocked = await reeve.run('run start api --destroy')
    assert.equal(blocked.code, EXIT_CODES.ok, 'one change is not too many')
    const [, first = ''] = /Run (run-\w+) is queued/.exec(blocked.err) ?? []
    await reeve.ok(`run discard ${first}`)
    const { code, err } = await reeve.run('run start api --replace terraform_data.one')
    assert.equal(code, EXIT_CODES.refusedByPolicy, err)
    const [, id = ''] = /Policies block the run\. "reeve run override (run-\w+)"/.exec(err) ?? []
    const shown = await reeve.ok(['run', 'override', id, '--comment', 'incident 7'])
    assert.match(shown, /\nPolicy check overridden by \w+: incident 7\.\n/)
  })

  await t.test('a configuration that cannot be planned is a failure', async () => {
    await reeve.ok('workspace create broken')
    await upload(client, 'resource "terraform_data" "x" { nonsense = 1 }\n', 'broken')
    const { code, out } = await reeve.run('run start broken')
    assert.equal(code, EXIT_CODES.failed)
    assert.match(out, /Unsupported argument[^]*\nStatus += errored\n/)
  })
})

/** A client with the token that the server wrote into its directory. */
async function governanceClient(reeve: CommandLineBench): Promise<Client> {
  const file = join(reeve.directory, 'data/server/governance-token')
  const token = (await readFile(file, 'utf8')).trim()
  return createClient({ address: reeve.address, token })
}

async function upload(client: Client, text: string, workspace = 'api'): Promise<void> {
  const { data: found } = await client.v2.readNamedWorkspace({
    params: { organization_name: 'acme', workspace_name: workspace },
  })
  const { data } = await client.v2.createConfigurationVersion({
    params: { workspace_id: found.data.id },
    body: resource('configuration-versions', { 'auto-queue-runs': false }),
  })
  const url = data.data.attributes['upload-url'] ?? ''
  const body = gzipSync(aTar([{ path: 'main.tf', text }]))
  const { status } = await fetch(url, { method: 'PUT', body })
  assert.equal(status, 200)
}
