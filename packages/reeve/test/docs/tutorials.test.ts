import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { aCommandLine } from '../build/cli.ts'
import { programOnPath } from '../build/program-on-path.ts'

const FOLDER = join(import.meta.dirname, '../../../../docs/tutorials')
/** Printed between the outputs of two blocks. */
const END_OF_BLOCK = '\u001e'
/** On a machine that is busy with other tests. */
const WITHIN_MS = 600_000

/** What a tutorial calls besides `reeve`, by its page. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  'web-service.md': ['python3', 'curl'],
}

interface Tutorial {
  /** Fences that name a file: it has their text. */
  readonly files: readonly { readonly name: string; readonly text: string }[]
  /** `sh` fences, and the `text` fence right after one, which is its output. */
  readonly blocks: readonly { readonly script: string; readonly output: string | undefined }[]
}

function tutorialOf(page: string): Tutorial {
  const fences = [...page.matchAll(/^```(\w+)(?: (\S+))?\n(.*?)^```$/gms)].map(
    ([, kind = '', name, content = '']) => ({ kind, name, content }),
  )
  const blocks = fences.flatMap(({ kind, content }, i) => {
    const next = fences[i + 1]
    const output = next?.kind === 'text' && next.name === undefined ? next.content : undefined
    return kind === 'sh' ? [{ script: content, output }] : []
  })
  const files = fences.flatMap(({ name, content }) =>
    name === undefined ? [] : [{ name, text: content }],
  )
  return { files, blocks }
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
      const { files, blocks } = tutorialOf(await readFile(join(FOLDER, page), 'utf8'))
      const cwd = join(reeve.directory, page)
      for (const file of files) {
        await mkdir(dirname(join(cwd, file.name)), { recursive: true })
        await writeFile(join(cwd, file.name), file.text)
      }
      await mkdir(cwd, { recursive: true })
      const env = { PATH: path, HOME: reeve.directory, REEVE_ADDR: reeve.address }
      const ended = await runScripts(
        blocks.map(({ script }) => script),
        { cwd, env },
      )
      for (const [i, { script, output }] of blocks.entries())
        if (output !== undefined) assert.equal(ended.outputs[i], output, `what prints:\n${script}`)
      assert.equal(ended.code, 0, `after ${ended.outputs.length} blocks: ${ended.rest}${ended.err}`)
    })
})

interface Place {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** Runs scripts one after the other in one shell, which ends at the first command that fails. */
async function runScripts(scripts: readonly string[], { cwd, env }: Place) {
  const script = scripts.map((one) => `${one}printf '${END_OF_BLOCK}'\n`).join('')
  const shell = spawn('bash', ['-eu', '-o', 'pipefail', '-c', script], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(shell, 'exit')
  const [out, err] = await Promise.all([text(shell.stdout), text(shell.stderr)])
  await exited
  const outputs = out.split(END_OF_BLOCK)
  return { code: shell.exitCode, outputs: outputs.slice(0, -1), rest: outputs.at(-1) ?? '', err }
}
