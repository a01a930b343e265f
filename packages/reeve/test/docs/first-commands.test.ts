import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createClient } from '@reeve/sdk'
import { FIRST_COMMANDS } from '../../../web/src/parts/first-commands.ts'
import { aCommandLine } from '../build/cli.ts'
import { programOnPath } from '../build/program-on-path.ts'

/** On a machine that is busy with other tests. */
const WITHIN_MS = 300_000

test('web: the first command of each empty page works on a fresh server', async (t) => {
  const reeve = await aCommandLine(t, ['--acl'])
  const { data: root } = await reeve.client.v1.bootstrapAcl({ body: {} })
  const path = `${await programOnPath(reeve.directory)}:${process.env['PATH'] ?? ''}`
  const env = {
    PATH: path,
    HOME: reeve.directory,
    REEVE_ADDR: reeve.address,
    REEVE_TOKEN: root.SecretID,
  }
  // Governance follows in the order of the table: an organization, then what is in it.
  const names = Object.keys(FIRST_COMMANDS)
  const lines = new Map(Object.entries(FIRST_COMMANDS).map(([name, line]) => [line, name]))
  assert.ok(names.length > 10)
  for (const [line, name] of lines)
    await t.test(`${name}: ${line}`, { timeout: WITHIN_MS }, async () => {
      const cwd = join(reeve.directory, name)
      await mkdir(cwd)
      const shell = spawn('bash', ['-eu', '-o', 'pipefail', '-c', line], {
        cwd,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const exited = once(shell, 'exit')
      const written = await Promise.all([text(shell.stdout), text(shell.stderr)])
      await exited
      assert.equal(shell.exitCode, 0, written.join(''))
    })
  const client = createClient({ address: reeve.address, token: root.SecretID })
  await client.v1.stopJob({ params: { job_id: 'example' } })
})
