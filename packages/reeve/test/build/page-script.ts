import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import assert from 'node:assert/strict'

/** Printed between the outputs of two blocks. */
const END_OF_BLOCK = '\u001e'

interface Place {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** Writes the files of a page and runs its commands, which must print what the page says. */
export async function runPage(page: string, { cwd, env }: Place): Promise<void> {
  const { files, blocks } = scriptOf(page)
  for (const file of files) {
    await mkdir(dirname(join(cwd, file.name)), { recursive: true })
    await writeFile(join(cwd, file.name), file.text)
  }
  await mkdir(cwd, { recursive: true })
  const ended = await runScripts(
    blocks.map(({ script }) => script),
    { cwd, env },
  )
  for (const [i, { script, output }] of blocks.entries())
    if (output !== undefined) assert.equal(ended.outputs[i], output, `what prints:\n${script}`)
  assert.equal(ended.code, 0, `after ${ended.outputs.length} blocks: ${ended.rest}${ended.err}`)
}

interface PageScript {
  /** Fences that name a file: it has their text. */
  readonly files: readonly { readonly name: string; readonly text: string }[]
  /** `sh` fences, and the `text` fence right after one, which is its output. */
  readonly blocks: readonly { readonly script: string; readonly output: string | undefined }[]
}

function scriptOf(page: string): PageScript {
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
