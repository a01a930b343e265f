import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Client } from '@reeve/sdk'
import { atEnd } from '../build/at-end.ts'
import { aCommandLine } from '../build/cli.ts'
import { programOnPath } from '../build/program-on-path.ts'
import { ScreenBuffer } from '../build/screen-buffer.ts'
import { aTerminal, noTerminal } from '../build/terminal.ts'
import { until } from '../build/until.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
/** Printed before each block and after the last one. */
const MARK = '\u001e'
/** On a machine that is busy with other tests. */
const WITHIN_MS = 180_000

interface Block {
  readonly script: string
  /** What it prints, where the page says so. */
  readonly output: string | undefined
}

/** The `sh` blocks of the tour; a `text` block right after one is its output. */
function tourOf(page: string): readonly Block[] {
  const [tour = ''] = /^## A tour in five minutes\n.*?(?=^## )/ms.exec(page) ?? []
  const fences = [...tour.matchAll(/^```(sh|text)\n(.*?)^```$/gms)]
  return fences.flatMap(([, kind, script = ''], i) => {
    const next = fences[i + 1]
    const output = next?.[1] === 'text' ? next[2] : undefined
    return kind === 'sh' ? [{ script, output }] : []
  })
}

/** What differs from one time to the next, from machine to machine, and how wide that makes it. */
const CHANGING: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\b[0-9a-f]{8}\b/g, 'ID'],
  [/\b(pol|polset)-\w{16}\b/g, '$1-ID'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
  [/\b\d+(ms|s|m|m\d+s) ago/g, 'AGE'],
  [/--check-index [1-9]\d*/g, '--check-index INDEX'],
  [/\b\d+ MB\b/g, 'AMOUNT'],
  [/ +/g, ' '],
]

function settled(text: string): string {
  return CHANGING.reduce((changed, [pattern, name]) => changed.replaceAll(pattern, name), text)
}

/** Tasks outlive an agent that is killed, as they must; the tour may have ended half-way. */
async function endEverything(client: Client): Promise<void> {
  const { data: jobs } = await client.v1.listJobs()
  for (const { ID } of jobs) await client.v1.stopJob({ params: { job_id: ID } })
  await until(
    'the tasks of the tour to end',
    async () => {
      const { data } = await client.v1.listAllocations()
      return data.every(({ ClientStatus }) => ClientStatus === 'complete') || undefined
    },
    WITHIN_MS,
  )
}

test(
  'README: the commands of the tour work and print what the page says',
  { skip: noTerminal },
  async (t) => {
    const blocks = tourOf(await readFile(join(ROOT, 'README.md'), 'utf8'))
    assert.ok(blocks.length > 5, `${blocks.length} blocks`)
    const reeve = await aCommandLine(t, ['--node-name', 'laptop'])
    atEnd(t, () => endEverything(reeve.client))
    const marked = blocks.map(({ script }) => `printf '${MARK}'\n${script}`).join('')
    await writeFile(join(reeve.directory, 'tour.sh'), `${marked}printf '${MARK}'\n`)
    // In a terminal, as a person sees it, but with nobody who types.
    const terminal = await aTerminal(t, 'bash tour.sh < /dev/null', {
      rows: 50,
      columns: 100,
      directory: reeve.directory,
      environment: {
        PATH: `${await programOnPath(reeve.directory)}:${process.env['PATH'] ?? ''}`,
        HOME: reeve.directory,
        TMPDIR: reeve.directory,
        REEVE_ADDR: reeve.address,
      },
    })
    assert.equal(await terminal.ended, 0)
    const [, ...printed] = terminal.screen().split(MARK)
    for (const [i, { script, output }] of blocks.entries()) {
      if (output === undefined) continue
      const shown = new ScreenBuffer().write(printed[i] ?? '').text()
      assert.equal(settled(shown), settled(output), `what this prints:\n${script}`)
    }
  },
)
