import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient, resource } from '@reeve/sdk'
import { aCommandLine } from '../build/cli.ts'

const LINEAGE = '2b0d3a9e-51a3-0d2c-8f52-0c3d5c6a7b8e'

/** A state with a number that is no exact JavaScript number. */
function stateText(serial: number, size: number, names: readonly string[]): string {
  const resources = names.map((name) => {
    const instances = `[{"schema_version":0,"attributes":{"id":12345678901234567890,"size":${size}}}]`
    const provider = 'provider[\\"example.com/builtin/data\\"]'
    return `{"mode":"managed","type":"disk","name":"${name}","provider":"${provider}","instances":${instances}}`
  })
  const outputs = '{"place":{"value":"eu","type":"string"}}'
  return `{"version":4,"serial":${serial},"lineage":"${LINEAGE}","outputs":${outputs},"resources":[${resources.join(',')}]}`
}

test('state: history, one version, what a write changed, and a rollback', async (t) => {
  const reeve = await aCommandLine(t)
  await reeve.ok('org create acme --email ops@acme.example')
  await reeve.ok('workspace create api')
  const token = await readFile(join(reeve.directory, 'data/server/governance-token'), 'utf8')
  const client = createClient({ address: reeve.address, token: token.trim() })
  const { data: workspace } = await client.v2.readNamedWorkspace({
    params: { organization_name: 'acme', workspace_name: 'api' },
  })
  const params = { workspace_id: workspace.data.id }
  await client.v2.lockWorkspace({ params, body: {} })
  const states = [stateText(1, 10, ['a', 'b']), stateText(2, 20, ['b', 'c'])]
  for (const [at, text] of states.entries()) {
    const md5 = createHash('md5').update(text).digest('hex')
    const state = Buffer.from(text).toString('base64')
    const attributes = { serial: at + 1, lineage: LINEAGE, md5, state }
    await client.v2.createStateVersion({ params, body: resource('state-versions', attributes) })
  }
  await client.v2.unlockWorkspace({ params })

  assert.match(await reeve.ok('state list api'), /^Serial +ID[^]*\n2 +sv-[^]*\n1 +sv-/)
  const shown = await reeve.ok('state show api')
  assert.match(shown, /\nSerial += 2\n[^]*disk\.b +1\n[^]*place +"eu"\n/)
  assert.equal(await reeve.ok('state pull api 1'), `${states[0]}\n`)
  assert.equal(
    await reeve.ok('state diff api'),
    'Serial 1 -> 2:\n- disk.a\n~ disk.b\n    size: 10 -> 20\n' +
      '+ disk.c\n    id: 12345678901234567000\n    size: 20\n',
  )
  assert.match(await reeve.ok('state diff api 2 2'), /^Serial 2 -> 2: no differences\.\n$/)
  assert.equal(
    await reeve.ok('state rollback api 1 --yes'),
    'The state of serial 1 is current again, as serial 3.\n',
  )
  assert.match(await reeve.ok('state show api'), /\nSerial += 3\n[^]*disk\.a +1\n/)
  assert.match(await reeve.ok('workspace show api'), /\nLocked += no\n/)
})
