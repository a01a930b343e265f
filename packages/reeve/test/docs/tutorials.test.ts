import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { aCommandLine } from '../build/cli.ts'
import { runPage } from '../build/page-script.ts'
import { programOnPath } from '../build/program-on-path.ts'

const FOLDER = join(import.meta.dirname, '../../../../docs/tutorials')
/** On a machine that is busy with other tests. */
const WITHIN_MS = 600_000

/** What a tutorial calls besides `reeve`, by its page. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  'web-service.md': ['python3', 'curl'],
}

function lacksProgram(page: string): string | false {
  const missing = (PROGRAMS[page] ?? []).filter(
    (name) => spawnSync(name, ['--version']).status !== 0,
  )
  return missing.length === 0 ? false : `${missing.join(', ')} not installed`
}

test('docs/tutorials: every command works and prints what its page says', async (t) => {
  const reeve = await aCommandLine(t)
  const path = `${await programOnPath(reeve.directory)}:${process.env['PATH'] ?? ''}`
  const pages = await readdir(FOLDER)
  assert.ok(pages.length >= 6)
  for (const page of pages.toSorted())
    await t.test(page, { skip: lacksProgram(page), timeout: WITHIN_MS }, async () => {
      const env = { PATH: path, HOME: reeve.directory, REEVE_ADDR: reeve.address }
      const text = await readFile(join(FOLDER, page), 'utf8')
      await runPage(text, { cwd: join(reeve.directory, page), env })
    })
})
