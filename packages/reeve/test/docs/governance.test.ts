import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createTestServer } from '../api/harness.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'

const PAGE = join(import.meta.dirname, '../../../../docs/how-to/use-the-governance-api.md')
/** Printed between the outputs of two blocks. */
const END_OF_BLOCK = '\u001e'

interface Block {
  readonly script: string
  /** What it prints. */
  readonly output: string
}

/** The `sh` blocks of a page; a `text` block right after one is its output. */
function blocksOf(page: string): readonly Block[] {
  const fences = [...page.matchAll(/^```(sh|text)\n(.*?)^```$/gms)]
  return fences.flatMap(([, kind, script = ''], i) => {
    const next = fences[i + 1]
    const output = next?.[1] === 'text' ? (next[2] ?? '') : ''
    return kind === 'sh' ? [{ script, output }] : []
  })
}

test(
  'docs/how-to/use-the-governance-api.md: every block prints what the page says',
  { timeout: 300_000 },
  async (t) => {
    const directory = await temporaryDirectory(t)
    const server = await createTestServer()
    t.after(() => server.close())
    const blocks = blocksOf(await readFile(PAGE, 'utf8'))
    const script = blocks.map((block) => `${block.script}printf '${END_OF_BLOCK}'\n`).join('')
    const shell = spawn('bash', ['-eu', '-c', script], {
      cwd: directory,
      env: { PATH: process.env['PATH'], REEVE_ADDR: await server.listen() },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const outputs = (await text(shell.stdout)).split(END_OF_BLOCK)
    assert.deepEqual(
      outputs.slice(0, -1),
      blocks.map(({ output }) => output),
    )
  },
)
