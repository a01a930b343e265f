import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createClient } from '@reeve/sdk'
import { FIRST_COMMANDS } from '../src/parts/first-commands.ts'
import { PROGRAM, startProgram } from './program.ts'

/** On a machine that is busy with other tests. */
const WITHIN_MS = 300_000

/** A folder for PATH with a `reeve` that, unlike bin/reeve, does not build first. */
async function programOnPath(directory: string): Promise<string> {
  const folder = join(directory, 'program')
  await mkdir(folder)
  const path = join(folder, 'reeve')
  await writeFile(path, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`)
  await chmod(path, 0o755)
  return folder
}

test('the first command of each empty page works on a fresh server', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'reeve-web-first-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const program = await startProgram(['--acl'])
  t.after(() => program.stop())
  const { data: root } = await program.client.v1.bootstrapAcl({ body: {} })
  const env = {
    PATH: `${await programOnPath(directory)}:${process.env['PATH'] ?? ''}`,
    HOME: directory,
    REEVE_ADDR: program.address,
    REEVE_TOKEN: root.SecretID,
  }
  // Governance follows in the order of the table: an organization, then what is in it.
  const names = Object.keys(FIRST_COMMANDS)
  const lines = new Map(Object.entries(FIRST_COMMANDS).map(([name, line]) => [line, name]))
  assert.ok(names.length > 10)
  for (const [line, name] of lines)
    await t.test(`${name}: ${line}`, { timeout: WITHIN_MS }, async () => {
      const cwd = join(directory, name)
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
  const client = createClient({ address: program.address, token: root.SecretID })
  await client.v1.stopJob({ params: { job_id: 'example' } })
})
