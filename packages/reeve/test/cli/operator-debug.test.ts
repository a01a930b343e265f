import assert from 'node:assert/strict'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '@reeve/sdk'
import { aCommandLine } from '../build/cli.ts'
import { runShellJob, shellTask } from '../build/cli-jobs.ts'

const SECRETS = {
  environment: 'secret-in-environment',
  argument: 'secret-in-argument',
  template: 'secret-in-template',
  meta: 'secret-in-meta',
  variable: 'secret-in-variable',
}

test('operator debug: the bundle contains no secrets', { timeout: 300_000 }, async (t) => {
  const reeve = await aCommandLine(t, ['--acl'])
  const { data: root } = await reeve.client.v1.bootstrapAcl({ body: {} })
  const client = createClient({ address: reeve.address, token: root.SecretID })
  const body = { Path: 'apps/db', Items: { key: SECRETS.variable } }
  await client.v1.writeVariable({ params: { path: body.Path }, body })
  const script = `: ${SECRETS.argument}; exec sleep 600`
  const side = {
    ...shellTask('side', script),
    Env: { KEY: SECRETS.environment },
    Meta: { key: SECRETS.meta },
    Templates: [{ EmbeddedTmpl: SECRETS.template, DestPath: 'local/file' }],
  }
  await runShellJob(t, client, { id: 'web', script, tasks: [side] })

  const environment = { REEVE_TOKEN: root.SecretID }
  assert.match(
    await reeve.ok('operator debug bundle', { environment }),
    /^\d+ files written to bundle\.\n$/,
  )
  const directory = join(reeve.directory, 'bundle')
  assert.equal((await stat(directory)).mode & 0o777, 0o700)
  const names = await readdir(directory)
  assert.ok(names.includes('jobs.json') && names.includes('agent-self.json'), names.join(' '))
  for (const name of names) {
    const text = await readFile(join(directory, name), 'utf8')
    const found = [...Object.values(SECRETS), root.SecretID].filter((one) => text.includes(one))
    assert.deepEqual(found, [], name)
  }
  assert.match(await readFile(join(directory, 'jobs.json'), 'utf8'), /"ID": "web"/)
})
