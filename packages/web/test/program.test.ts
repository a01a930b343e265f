import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runFile, serviceFile } from './jobs.ts'
import { environmentOf, startProgram } from './program.ts'

test('the tasks of a program end with it, however it ends', { timeout: 300_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-web-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const pipe = join(folder, 'pid')
  spawnSync('mkfifo', [pipe])
  for (const isCrash of [false, true]) {
    const program = await startProgram()
    await runFile(program.client, serviceFile('lasts', { count: 1, words: `$$ > ${pipe}` }))
    const pid = (await readFile(pipe, 'utf8')).trim()
    assert.notEqual(environmentOf(pid), '')
    if (isCrash) await program.crash()
    await program.stop()
    assert.equal(environmentOf(pid), '')
  }
})
