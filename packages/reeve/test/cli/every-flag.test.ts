import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { withGlobalFlags } from '../../src/cli/global-flags.ts'
import { COMMANDS } from '../../src/cli/commands.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const README = fileURLToPath(new URL('../../../../README.md', import.meta.url))

/** The tests of the command line, and the tour of the README, which is one. */
async function testTexts(): Promise<string> {
  const files = (await readdir(HERE, { recursive: true })).filter((name) => name.endsWith('.ts'))
  const own = files.filter((name) => name !== 'every-flag.test.ts')
  const texts = await Promise.all([README, ...own.map((name) => join(HERE, name))].map(read))
  return texts.join('\n')
}

async function read(path: string): Promise<string> {
  return await readFile(path, 'utf8')
}

test('every flag of every command is used by a test', async () => {
  const named = new Set((await testTexts()).match(/--[a-z][a-z0-9-]*/g))
  const missing = COMMANDS.flatMap((spec) =>
    withGlobalFlags(spec)
      .flatMap(({ usage }) => usage.match(/--[a-z][a-z0-9-]*/g) ?? [])
      .filter((flag) => !named.has(flag))
      .map((flag) => `${spec.path} ${flag}`),
  )
  assert.deepEqual(missing, [])
})
